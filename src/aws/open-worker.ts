import { errorRecord, UpkeepError } from '../errors.ts';
import { canonicalRoot } from '../fleet/targets.ts';
import { lancedbEnvironment, lancedbStorageOptions } from '../storage/lancedb-storage.ts';
import type { Perform, TaskKind } from '../tasks/task.ts';
import { createWorkerRuntime, type WorkerRuntime } from '../upkeep/worker-runtime.ts';
import { createLancedb } from '../work/lancedb.ts';
import { type CloudOverrides, openCloud, ownedRootsOf } from './cloud.ts';
import { createProgressLog } from './progress-log.ts';

/** A message as an event source hands it to a function. */
export interface QueueMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: { readonly ApproximateReceiveCount: string; readonly SentTimestamp: string };
}

export interface CloudWorker {
  readonly runtime: WorkerRuntime;
  /**
   * Handles one message. Throws when the message must return, so the partial response names it. It is visible again within a
   * minute, not only after the queue's visibility timeout of 90 minutes.
   */
  deliver(message: QueueMessage, context: InvocationContext): Promise<void>;
}

export interface InvocationContext {
  /** Milliseconds until the function is stopped. */
  readonly remainingMs: () => number;
  readonly requestId: string;
}

export interface WorkerOverrides extends CloudOverrides {
  /** Ends the process at once. Tests replace it. */
  readonly exit?: (error: UpkeepError) => void;
  readonly holder?: string;
  /** Wraps the work, so tests can stop it. */
  readonly wrapPerform?: (perform: Perform) => Perform;
}

/** The function of one queue. @throws SETTING_*, CLOUD_NAME_MISSING, ROOT_INVALID (permanent) */
export async function openWorker(
  kind: TaskKind,
  environment: NodeJS.ProcessEnv,
  overrides: WorkerOverrides = {},
): Promise<CloudWorker> {
  const { exit = exitHard, holder, wrapPerform, ...cloudOverrides } = overrides;
  const cloud = openCloud(environment, cloudOverrides);
  const { queue, settings, log, metrics, newId } = cloud;
  // The source of a shallow clone reads its endpoint from the process's environment alone.
  Object.assign(environment, lancedbEnvironment(environment));
  const roots = await Promise.all(settings.roots.map(canonicalRoot));
  let requestId = '';
  const runtime = createWorkerRuntime({
    ...cloud,
    roots,
    lancedb: createLancedb({
      storageOptions: lancedbStorageOptions(environment),
      sliceBytes: settings.mergeSliceBytes,
    }),
    holder: holder ?? environment.AWS_LAMBDA_LOG_STREAM_NAME ?? newId(),
    ...(wrapPerform ? { wrapPerform } : {}),
    exit(error) {
      log.error('exit', errorRecord(error));
      exit(error);
    },
    onProgress: createProgressLog({ log, metrics, queue: kind, requestId: () => requestId }),
    onResult: (result, task) => metrics.put({ kind }, result.metrics, { target: task.target, taskId: task.id }),
  });
  const owned = ownedRootsOf(cloud, roots);

  async function handle(message: QueueMessage, receiveCount: number, { remainingMs }: InvocationContext) {
    const { body, messageId, attributes } = message;
    try {
      await owned.ensure();
      const delivery = { kind, body, messageId, receiveCount, sentAt: Number(attributes.SentTimestamp) };
      return await runtime.worker.handleDelivery(delivery, { remainingMs });
    } catch (error) {
      log.error('deliver', errorRecord(error), { kind });
      return 'retry-later';
    }
  }

  return {
    runtime,
    async deliver(message, context) {
      requestId = context.requestId;
      const receiveCount = Number(message.attributes.ApproximateReceiveCount);
      if ((await handle(message, receiveCount, context)) === 'acknowledge') return;
      await queue.retryLater(kind, message.receiptHandle, receiveCount);
      throw new UpkeepError(`The message ${message.messageId} comes again.`, {
        code: 'MESSAGE_RETRY',
        disposition: 'contention',
      });
    },
  };
}

/** A frozen sandbox may thaw and commit later, so this process must end. */
function exitHard(): void {
  process.exit(1);
}
