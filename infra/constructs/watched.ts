import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import type { TaskKind } from '../../src/tasks/task.ts';
import type { StackSettings } from '../settings.ts';
import type { Ledger } from './ledger.ts';
import type { UpkeepFunction } from './upkeep-function.ts';
import type { WorkQueue } from './work-queue.ts';

export interface WatchProps {
  readonly settings: StackSettings;
  readonly ledger: Ledger;
  readonly queues: readonly WorkQueue[];
  readonly workers: ReadonlyMap<TaskKind, UpkeepFunction>;
  readonly stream: UpkeepFunction;
  readonly sweep: UpkeepFunction;
}

/** `critical`: tables suffer or nothing runs. `warning`: look at it during the day. */
export type Severity = 'critical' | 'warning';

export interface Watched {
  /** Name of the alarm, after the stack's and the severity. */
  readonly name: string;
  readonly metric: IMetric;
  /** One alarm for each; each names the number from which on it rings. */
  readonly from: Partial<Record<Severity, number>>;
  /** Rings below the number instead, and when nothing is reported at all. */
  readonly silence?: boolean;
  /** Periods in a row. @default 1 */
  readonly periods?: number;
  /** The section of docs/operations.md. */
  readonly runbook: string;
}
