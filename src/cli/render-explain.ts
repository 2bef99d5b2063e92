import { inspectReport } from '../upkeep/inspect-report.ts';
import type { ExplainReport } from '../upkeep/reports.ts';
import { count } from '../wording.ts';
import { formatCount } from './format.ts';
import type { Paint } from './paint.ts';
import { type Cell, type Column, oneLine, renderTable } from './render-table.ts';
import { describeVersions, renderIndexes } from './render-tables.ts';
import { renderTasks } from './render-tasks.ts';

const COLUMNS: Column[] = [
  { title: 'rule' },
  { title: 'kind' },
  { title: 'value', align: 'right' },
  { title: 'threshold', align: 'right' },
  { title: 'unit' },
  { title: 'result' },
  { title: 'reason' },
];

/** Inputs, each rule with threshold and value, what follows from them, and why nothing runs if nothing does. */
export function renderExplain(report: ExplainReport, paint: Paint): string {
  const { facts } = report;
  const head = [
    report.target,
    `  version ${facts.version}, ${count(facts.rows, 'row')}, ${count(facts.fragments, 'fragment')}, ` +
      `observed ${new Date(facts.numbersFrom ?? facts.observedAt).toISOString()}`,
  ];
  if (facts.versions) head.push(`  versions: ${describeVersions(facts.versions)}`);
  if (facts.error) head.push(`  ${paint.bad('not readable')}: ${facts.error.code}: ${oneLine(facts.error.message)}`);
  const results = report.rules.map((result): Cell[] => [
    result.rule,
    result.kind,
    formatValue(result.value),
    formatValue(result.threshold),
    result.unit,
    result.due ? { text: 'due', paint: paint.strong } : 'not due',
    result.reason,
  ]);
  const parts = [`${head.join('\n')}\n`, renderTable(COLUMNS, results)];
  if (facts.indexes.length > 0) parts.push(renderIndexes(inspectReport(facts)));
  parts.push(`plan\n${planLines(report)}`);
  if (report.openTasks.length > 0) parts.push(`open tasks\n${renderTasks(report.openTasks, paint)}`);
  if (report.reasons.length > 0) parts.push(`${report.reasons.map((sentence) => `- ${oneLine(sentence)}\n`).join('')}`);
  return parts.join('\n');
}

function planLines(report: ExplainReport): string {
  if (report.plan.length === 0) return '  nothing to do\n';
  return report.plan
    .map((request) => `  ${request.kind}${request.reason === undefined ? '' : `: ${oneLine(request.reason)}`}\n`)
    .join('');
}

function formatValue(value: unknown): string {
  if (typeof value !== 'number') return String(value);
  return Number.isInteger(value) ? formatCount(value) : String(Math.round(value * 1_000) / 1_000);
}
