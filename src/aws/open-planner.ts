import { errorRecord } from '../errors.ts';
import { BACKLOG_STAGE, backlogOf } from '../fleet/backlog.ts';
import type { SweepKind } from '../fleet/demand.ts';
import { holdLeft } from '../fleet/hold-left.ts';
import { canonicalRoot } from '../fleet/targets.ts';
import type { AwsEnvironment } from '../storage/s3-client.ts';
import type { Lifecycle } from '../tasks/api.ts';
import { createPlanner } from '../upkeep/planner.ts';
import { type CloudOverrides, openCloud, ownedRootsOf } from './cloud.ts';
import { changeRecordOf, type StreamRecord } from './dynamo-stream-records.ts';
import { createProgressLog } from './progress-log.ts';

export interface SweepSummary {
  /** Tables that were read. */
  readonly tables: number;
  /** New tasks. */
  readonly asked: number;
  /** Tables and roots that could not be read, or whose tasks could not be requested. */
  readonly failed: number;
  /** Tables, or whole roots, that there was no time for. The next sweep of the kind begins with them. */
  readonly skipped: number;
}

/** The functions that decide and do no work on tables. They load no native library. */
export interface CloudPlanner {
  readonly lifecycle: Lifecycle;
  /** One scheduled pass over all roots. `remainingMs` is the time until the function is stopped. */
  sweep(kind: SweepKind, remainingMs: number): Promise<SweepSummary>;
  recover(): Promise<Awaited<ReturnType<Lifecycle['recover']>>>;
  /** Acts on one record of the ledger's stream. */
  onRecord(record: StreamRecord): Promise<void>;
}

const RESERVE_MS = 10_000;

function timeFor(remainingMs: number): number {
  return Math.max(1, Math.floor(remainingMs - RESERVE_MS));
}

/** @throws SETTING_*, CLOUD_NAME_MISSING, ROOT_INVALID (permanent) */
export async function openPlanner(environment: AwsEnvironment, overrides: CloudOverrides = {}): Promise<CloudPlanner> {
  const cloud = openCloud(environment, overrides);
  const { settings, log, metrics, clock } = cloud;
  const roots = await Promise.all(settings.roots.map(canonicalRoot));
  const owned = ownedRootsOf(cloud, roots);
  const { lifecycle, sweep } = createPlanner({
    ...cloud,
    roots,
    belowRoot: owned.claim,
    onProgress: createProgressLog({ log, metrics }),
  });

  return {
    lifecycle,
    async sweep(kind, remainingMs) {
      const report = await sweep(kind, AbortSignal.timeout(timeFor(remainingMs)));
      for (const { target, error } of report.failed) log.error('sweep', error, { target });
      for (const { target, createdAt } of report.holdsLeft)
        log.write({ level: 'warn', stage: 'sweep', ...holdLeft(createdAt), target });
      const asked = report.requested.filter(({ joined }) => !joined);
      for (const { task } of asked) {
        const { target, kind: taskKind, id } = task;
        log.write({ stage: 'admitted', message: task.reasons.join(', '), target, kind: taskKind, taskId: id });
      }
      const summary = {
        tables: report.tables.length,
        asked: asked.length,
        failed: report.failed.length,
        skipped: report.skipped.length,
      };
      if (summary.skipped > 0) {
        const message = `No time was left for ${summary.skipped} tables, the first of them ${report.skipped[0]}.`;
        log.write({ level: 'warn', stage: 'sweep', message, code: 'SWEEP_OUT_OF_TIME' });
      }
      metrics.put(
        { stage: `sweep-${kind}` },
        {
          TablesRead: summary.tables,
          TablesFailed: summary.failed,
          TablesSkipped: summary.skipped,
          TasksAsked: summary.asked,
        },
      );
      // When no table could be read, no backlog is published: zeros would claim that nothing is waiting.
      if (report.tables.length > 0) metrics.put({ stage: BACKLOG_STAGE }, { ...backlogOf(report, clock.now()) });
      return summary;
    },
    async recover() {
      const report = await lifecycle.recover();
      for (const error of report.errors) log.error('recover', error);
      const { endedAttempts, woken, rechecked, notified } = report;
      metrics.put(
        { stage: 'recover' },
        {
          AttemptsEnded: endedAttempts,
          TasksWoken: woken,
          TasksRechecked: rechecked,
          TasksNotified: notified,
          RecoverErrors: report.errors.length,
        },
      );
      return report;
    },
    async onRecord(record) {
      const change = changeRecordOf(record);
      if (!change) return;
      try {
        await lifecycle.onRecord(change);
      } catch (error) {
        // The batch's response only says that it failed. The log says why.
        log.error('stream', errorRecord(error));
        throw error;
      }
    },
  };
}
