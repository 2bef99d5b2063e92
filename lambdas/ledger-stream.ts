import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { Context, DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { openPlanner } from '../src/aws/open-planner.ts';

const planner = await openPlanner(process.env);

/**
 * Turns changes of the ledger into messages: wake-ups for queued tasks, the IndexId task after a compaction, dependents of an ended
 * task, the next task of a freed target. A record only says where to look, so that any may come late, twice or never.
 */
export async function handler(event: DynamoDBStreamEvent, context: Context): Promise<DynamoDBBatchResponse> {
  const onRecord = (record: DynamoDBRecord) => planner.onRecord(record);
  return processPartialResponse(event, onRecord, new BatchProcessor(EventType.DynamoDBStreams), {
    context,
    processInParallel: false,
    throwOnFullBatchFailure: false,
  });
}
