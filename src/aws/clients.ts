import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { AwsEnvironment } from '../storage/s3-client.ts';

/** No SDK retries, short timeouts: a renewal that hangs must not outlast its lease. */
export function createDynamoClient(): DynamoDBClient {
  return new DynamoDBClient({ maxAttempts: 1, requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000 } });
}

export function createSqsClient(environment: AwsEnvironment): SQSClient {
  const endpoint = environment.AWS_ENDPOINT_URL_SQS ?? environment.AWS_ENDPOINT_URL;
  return new SQSClient({
    requestHandler: { connectionTimeout: 2_000, requestTimeout: 25_000 },
    // An endpoint other than Amazon's may use queue names that only it can resolve.
    ...(endpoint === undefined ? {} : { useQueueUrlAsEndpoint: false }),
  });
}
