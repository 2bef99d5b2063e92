import type { TaskKind } from '../tasks/task.ts';
import type {
  DeadLetterReport,
  ExplainReport,
  HistoryReport,
  InspectReport,
  PauseReport,
  PrunePreview,
  RunReport,
  SendReport,
  SendRequest,
  StatusReport,
} from './reports.ts';

/** What a person or a program may ask of the product, embedded or deployed. */
export interface Operator {
  inspect(target: string): Promise<InspectReport>;
  status(root?: string): Promise<StatusReport>;
  explain(target: string): Promise<ExplainReport>;
  /** With `wait`, runs or watches until the task has ended; without it, only writes it to the ledger. */
  send(request: SendRequest, options: { readonly wait: boolean; readonly signal: AbortSignal }): Promise<SendReport>;
  /** What a Prune would delete now; changes nothing, asks for nothing. */
  previewPrune(target: string): Promise<PrunePreview>;
  history(options: {
    readonly target?: string;
    readonly limit: number;
    readonly after?: string;
  }): Promise<HistoryReport>;
  /** The newest first. Without a queue, of all. */
  deadLetters(options: { readonly queue?: TaskKind; readonly limit: number }): Promise<DeadLetterReport>;
  /** Sends a dead letter to its queue again under its original id; false when there is none of that id. */
  redrive(messageId: string): Promise<boolean>;
  /** Removes a dead letter for good; false when there is none of that id. */
  deleteDeadLetter(messageId: string): Promise<boolean>;
  /** What runs goes on to its end, and nothing new begins. The scope is a table, a root or a folder; without it, everything. */
  pause(request: { readonly scope?: string; readonly by: string; readonly reason: string }): Promise<PauseReport>;
  /** Takes a pause of that very scope back; throws PAUSE_NOT_FOUND when there is none. */
  resume(request: { readonly scope?: string }): Promise<void>;
  close(): Promise<void>;
}

/** Maintains roots from this process. A deployed stack has none: its functions run by themselves. */
export interface Runner {
  /** Absolute targets of the tables under the roots, found as a sweep finds them. */
  findTables(): Promise<readonly string[]>;
  /** Maintains the roots: until nothing is runnable with `once`, else until the signal aborts. */
  run(options: { readonly once: boolean; readonly signal: AbortSignal }): Promise<RunReport>;
}
