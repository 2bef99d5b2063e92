import { connect } from '@lancedb/lancedb';
import type { Bench } from './bench.ts';
import { type Measured, measureInChild } from './child.ts';
import { vectorSection } from './compact-vectors.ts';
import { mebibytes, milliseconds, peak, table, target, times } from './figures.ts';

const ROWS = 10;
const ROW_BYTES = 100 * 1024;
const SIZES = [100, 300];

/** Fragments of wide rows, which never reach a million rows and so would be rewritten as a whole by every optimize(). */
export const compactBench: Bench = async (folder) => {
  const results: { fragments: number; measured: Measured }[] = [];
  // Below the size of either table, so that both take the bounded strategy.
  const environment = {
    COMPACT_MAX_BYTES: String(64 * 1024 * 1024),
    TARGET_FRAGMENT_BYTES: String(32 * 1024 * 1024),
  };
  for (const fragments of SIZES) {
    await wideTable(folder, `wide${fragments}`, fragments);
    const measured = await measureInChild('compact-ours', [`${folder}/wide${fragments}.lance`], { environment });
    results.push({ fragments, measured });
  }
  const idle = await measureInChild('idle', [`${folder}/wide${SIZES[0]}.lance`], { environment });
  const written = ({ facts }: Measured) => (facts.bytesWritten ?? 0) / (facts.bytes ?? Number.NaN);
  const [small, large] = results;
  if (!small || !large) throw new Error('no results');
  return [
    `Fragments of ${ROWS} rows of ${ROW_BYTES / 1024} KiB, COMPACT_MAX_BYTES 64 MiB, TARGET_FRAGMENT_BYTES 32 MiB, the allocator set as by the launcher; passes until fewer than 16 fragments are left to rewrite. A process that only opens the table peaks at ${peak(idle)}.`,
    table(
      ['fragments', 'after', 'passes', 'data', 'written', 'time', 'peak'],
      results.map(({ fragments, measured }) => [
        String(fragments),
        String(measured.facts.fragmentsAfter),
        String(measured.facts.passes),
        mebibytes(measured.facts.bytes ?? 0),
        times(written(measured)),
        milliseconds(measured.timesMs.reduce((sum, time) => sum + time, 0)),
        peak(measured),
      ]),
    ),
    target('bytes written against the data, 300 fragments', written(large.measured), 1.3),
    target('peak memory with 300 against 100 fragments', large.measured.peakBytes / small.measured.peakBytes, 1.2),
    await vectorSection(folder),
  ].join('\n\n');
};

async function wideTable(folder: string, name: string, fragments: number): Promise<void> {
  const connection = await connect(folder);
  const first = await connection.createTable(name, wideRows(0));
  for (let fragment = 1; fragment < fragments; fragment += 1) await first.add(wideRows(fragment));
  first.close();
}

function wideRows(fragment: number) {
  return Array.from({ length: ROWS }, (_, n) => {
    const bytes = Buffer.alloc(ROW_BYTES);
    let state = fragment * ROWS + n + 1;
    for (let at = 0; at < ROW_BYTES; at += 4) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      bytes.writeUInt32LE(state, at);
    }
    return { id: `f${fragment}-${n}`, n, bytes };
  });
}
