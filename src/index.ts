import type { StackOptions } from './aws/open-stack.ts';
import type { Operator } from './upkeep/operator.ts';

export type { StackOptions } from './aws/open-stack.ts';
export { loadSettings, type Settings } from './config.ts';
export { type ErrorRecord, errorRecord, UpkeepError } from './errors.ts';
export { openUpkeep, type Upkeep, type UpkeepOptions } from './local/open-upkeep.ts';
export { TASK_KINDS, type TaskKind, type TaskState } from './tasks/task.ts';
export type { Operator, Runner } from './upkeep/operator.ts';
export type {
  DeadLetterReport,
  ExplainReport,
  HistoryReport,
  InspectReport,
  LeftOut,
  PauseReport,
  ProgressEvent,
  PrunePreview,
  RunReport,
  SendReport,
  SendRequest,
  StatusReport,
  TaskReport,
} from './upkeep/reports.ts';

/** The operator of a deployed stack. Errors: STACK_NOT_FOUND, CLOUD_NAME_MISSING, ROOT_INVALID. */
export async function openStack(options: StackOptions): Promise<Operator> {
  // Imported when needed: a program that embeds the product never loads the clients of AWS.
  const stack = await import('./aws/open-stack.ts');
  return stack.openStack(options);
}
