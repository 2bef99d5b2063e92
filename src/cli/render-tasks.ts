import type { TaskReport } from '../upkeep/reports.ts';
import { count, size } from '../wording.ts';
import { formatCount, formatDuration, tableNames } from './format.ts';
import type { Paint } from './paint.ts';
import { type Cell, type Column, renderTable } from './render-table.ts';

/** What came of a task, in one sentence without a full stop. */
export function describeOutcome(task: TaskReport): string {
  if (task.state === 'done' && task.result) {
    const { compaction, rewroteNothing, versionBefore, versionAfter, partial } = task.result;
    const rest = partial === undefined ? '' : `; in part: ${partial}`;
    if (rewroteNothing) return `nothing to change at version ${versionBefore}${rest}`;
    if (task.kind === 'Prune') return `${describePruned(task.result.metrics)}${rest}`;
    const versions = `version ${versionBefore} -> ${versionAfter}`;
    if (!compaction) return `${versions}${rest}`;
    const fragments = `${count(compaction.fragmentsRemoved, 'fragment')} into ${formatCount(compaction.fragmentsAdded)}`;
    return `${fragments}, ${size(compaction.bytesWritten)} written, ${versions}${rest}`;
  }
  if (task.error && task.state !== 'done') return `${task.error.code}: ${task.error.message}`;
  if (task.state === 'waiting') return `waits for ${task.dependsOn.join(', ')}`;
  if (task.notBefore !== null && task.state === 'queued') return `not before ${task.notBefore}`;
  return '';
}

function describePruned(metrics: Readonly<Record<string, number>>): string {
  const { prune_versions_removed = 0, prune_files_removed = 0, prune_bytes_removed = 0 } = metrics;
  const versions = count(prune_versions_removed, 'version');
  return `${versions} and ${count(prune_files_removed, 'file')} removed, ${size(prune_bytes_removed)} given back`;
}

/** One line a task, in the order given. */
export function renderTasks(tasks: readonly TaskReport[], paint: Paint): string {
  const names = tableNames(tasks.map((task) => task.target));
  const columns: Column[] = [
    { title: 'task' },
    { title: 'kind' },
    { title: 'table' },
    { title: 'state' },
    { title: 'attempts', align: 'right' },
    { title: 'took', align: 'right' },
    { title: 'created' },
    { title: 'outcome' },
  ];
  const rows = tasks.map((task): Cell[] => [
    task.id,
    task.kind,
    names.get(task.target) ?? task.target,
    paintedState(task, paint),
    formatCount(task.attempts),
    durationOf(task),
    task.createdAt,
    describeOutcome(task),
  ]);
  return renderTable(columns, rows);
}

function paintedState(task: TaskReport, paint: Paint): Cell {
  if (task.state === 'failed') return { text: task.state, paint: paint.bad };
  return task.state === 'done' ? { text: task.state, paint: paint.good } : task.state;
}

function durationOf(task: TaskReport): string {
  if (task.startedAt === null || task.endedAt === null) return '-';
  return formatDuration(Date.parse(task.endedAt) - Date.parse(task.startedAt));
}
