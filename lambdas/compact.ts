import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { openWorker } from '../src/aws/open-worker.ts';
import { queueResponse } from './queue-response.ts';

// Once for each sandbox: clients and caches live as long as it does.
const worker = await openWorker('Compact', process.env);

/**
 * Rewrites small and half-deleted fragments; settles with its CompactionMetrics in one transaction.
 * The event source has batch size 1 and partial responses; one message is one attempt at most.
 */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  return queueResponse(worker, event, context);
}
