import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { openWorker } from '../src/aws/open-worker.ts';
import { queueResponse } from './queue-response.ts';

// Once for each sandbox: clients and caches live as long as it does.
const worker = await openWorker('MergeWal', process.env);

/**
 * Merges flushed generations into the base table. The manifest is read first, with the S3 client; LanceDB loads only for a merge.
 * The event source has batch size 1 and partial responses; one message is one attempt at most.
 */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  return queueResponse(worker, event, context);
}
