import { peakMemory } from '../../bench/peak-memory.ts';
import { loadSettings } from '../../src/config.ts';
import { typedErrorIn } from '../../src/errors.ts';
import { createFileObjectStore } from '../../src/storage/file-object-store.ts';
import { createLancedb } from '../../src/work/lancedb.ts';
import { mergeWal } from '../../src/work/merge-wal.ts';
import { attemptOn } from '../fixtures/work.ts';

/** Merges all that waits, in passes, and prints the peak memory in bytes, the fences, and the code of what went wrong. */
const target = process.argv[2] as string;
const settings = loadSettings(process.env);
const lancedb = createLancedb({ sliceBytes: settings.mergeSliceBytes });
const attempt = attemptOn(target);
let code = '';
try {
  const dependencies = { storageFor: createFileObjectStore, lancedb, settings, now: Date.now };
  while ((await mergeWal(attempt, dependencies)).followUp);
} catch (error) {
  code = typedErrorIn(error)?.code ?? String(error);
}
const pool = Number(process.env.LANCE_MEM_POOL_SIZE);
process.stdout.write(JSON.stringify({ peakBytes: peakMemory(), fences: attempt.fences.count, code, pool }));
