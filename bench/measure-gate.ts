/**
 * The gate in a process of its own; imports nothing before it is needed, so that the first figure is the whole cold
 * start. Prints a `Measured`: facts.coldMs is the time from the start of the process to the first answer.
 */
import { peakMemory } from './peak-memory.ts';

const [name, target = '', rounds = '1'] = process.argv.slice(2);

const check = await (name === 'gate-ours' ? ours() : name === 'gate-open' ? plain(true) : plain(false));
await check();
const coldMs = performance.now();
const timesMs: number[] = [];
for (let round = 0; round < Number(rounds); round += 1) {
  const start = performance.now();
  await check();
  timesMs.push(performance.now() - start);
}
const peakBytes = peakMemory();
process.stdout.write(JSON.stringify({ timesMs, peakBytes, facts: { coldMs } }));

async function ours(): Promise<() => Promise<unknown>> {
  const { createFileObjectStore } = await import('../src/storage/file-object-store.ts');
  const { readGate } = await import('../src/work/gate.ts');
  const table = createFileObjectStore(target);
  return () => readGate(table);
}

async function plain(keepConnection: boolean): Promise<() => Promise<unknown>> {
  const { connect } = await import('@lancedb/lancedb');
  const cut = target.lastIndexOf('/');
  const open = () => connect(target.slice(0, cut));
  const kept = await open();
  return async () => {
    const database = keepConnection ? kept : await open();
    const table = await database.openTable(target.slice(cut + 1).replace('.lance', ''));
    const indices = await table.listIndices();
    table.close();
    return indices;
  };
}
