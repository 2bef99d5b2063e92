import type { PrunePreview } from '../upkeep/reports.ts';
import { count, duration, size } from '../wording.ts';
import { formatCount } from './format.ts';
import { type Column, renderTable } from './render-table.ts';

const COLUMNS: Column[] = [{ title: 'what' }, { title: 'files', align: 'right' }, { title: 'bytes', align: 'right' }];

const REASONS: Readonly<Record<string, string>> = {
  head: 'the newest',
  tagged: 'tagged',
  recent: 'within the retention',
  newestAtCutoff: 'the newest when the retention began',
  newest: 'among the newest to keep',
  detached: 'detached',
};

/** What a prune would delete, by class, and why the other versions stay. */
export function renderPrunePreview(preview: PrunePreview): string {
  const { target, versions, prunableVersions, retained, retentionMs, retentionOf, bytes } = preview;
  const source = retentionOf === 'table' ? "the table's own config" : 'VERSION_RETENTION';
  const reasons = Object.entries(retained).map(
    ([reason, count]) => `${formatCount(count)} ${REASONS[reason] ?? reason}`,
  );
  const lines = [
    target,
    `  ${formatCount(prunableVersions)} of ${count(versions, 'version')} would be deleted, ${size(bytes)} given back`,
    `  retention ${duration(retentionMs)} (${source})`,
    `  staying: ${reasons.join(', ')}`,
  ];
  if (preview.orphans > 0) lines.push(`  ${count(preview.orphans, 'file')} that no version ever named`);
  if (preview.orphansTooYoung > 0) {
    lines.push(`  ${count(preview.orphansTooYoung, 'file')} without a version stay: a commit may be under way`);
  }
  const rows = Object.entries(preview.classes).map(([name, tally]) => [
    name,
    formatCount(tally.files),
    size(tally.bytes),
  ]);
  return `${lines.join('\n')}\n\n${renderTable(COLUMNS, rows)}`;
}
