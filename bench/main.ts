import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench } from './bench.ts';
import { compactBench } from './compact.ts';
import { drainBench } from './drain.ts';
import { gateBench } from './gate.ts';
import { mergeBench } from './merge.ts';
import { mergeMemoryBench } from './merge-memory.ts';
import { startBench } from './start.ts';

const benches: Record<string, Bench> = {
  merge: mergeBench,
  'merge-memory': mergeMemoryBench,
  gate: gateBench,
  drain: drainBench,
  compact: compactBench,
  start: startBench,
};
const file = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in benches));
if (names.length === 0 || unknown.length > 0) {
  process.stderr.write(`Usage: npm run bench -- ${Object.keys(benches).join(' | ')}\n`);
  process.exit(2);
}
for (const name of names) {
  const folder = mkdtempSync(join(tmpdir(), 'lance-upkeep-bench-'));
  try {
    const section = await benches[name]?.(folder);
    const text = `## ${name}\n\n${machine()}\n\n${section?.trim()}\n`;
    process.stdout.write(`${text}\n`);
    writeFileSync(file, withSection(readFileSync(file, 'utf8'), name, text));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function machine(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? 'unknown processor';
  const memory = Math.round(totalmem() / 1024 ** 3);
  const day = new Date().toISOString().slice(0, 10);
  return `Measured ${day} on ${processors.length} cores (${model}), ${memory} GiB, local disk, Node ${process.version}.`;
}

function withSection(document: string, name: string, section: string): string {
  const start = document.indexOf(`## ${name}\n`);
  if (start < 0) return `${document.trimEnd()}\n\n${section}`;
  const next = document.indexOf('\n## ', start + 1);
  return `${document.slice(0, start)}${section}${next < 0 ? '' : document.slice(next)}`;
}
