import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { CloudWorker } from '../src/aws/open-worker.ts';

/** Every message of the batch by itself, one after the other; those that have to come again are named in the response. */
export async function queueResponse(worker: CloudWorker, event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const deliver = (record: SQSRecord) =>
    worker.deliver(record, {
      remainingMs: () => context.getRemainingTimeInMillis(),
      requestId: context.awsRequestId,
    });
  return processPartialResponse(event, deliver, new BatchProcessor(EventType.SQS), {
    context,
    processInParallel: false,
    // All of a batch coming again is no error of the function.
    throwOnFullBatchFailure: false,
  });
}
