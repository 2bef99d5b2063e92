import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';

/** Region, credentials and endpoints come from the environment, as the SDK reads them. */
export type AwsEnvironment = Readonly<Record<string, string | undefined>>;

/** One attempt, too, and short: a renewal that hangs must not outlast its lease. */
export function createDynamoClient(): DynamoDBClient {
  return new DynamoDBClient({ maxAttempts: 1, requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000 } });
}

export function createSqsClient(environment: AwsEnvironment): SQSClient {
  const endpoint = environment.AWS_ENDPOINT_URL_SQS ?? environment.AWS_ENDPOINT_URL;
  return new SQSClient({
    requestHandler: { connectionTimeout: 2_000, requestTimeout: 25_000 },
    // Another endpoint than Amazon's may give its queues names that only it can resolve.
    ...(endpoint === undefined ? {} : { useQueueUrlAsEndpoint: false }),
  });
}

/** One attempt: the object store repeats by itself, since it has to know whether a conditional PUT was sent twice. */
export function createS3Client(environment: AwsEnvironment): S3Client {
  const endpoint = environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL;
  return new S3Client({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 60_000 },
    // Another S3 than Amazon's rarely has a host name for each bucket.
    ...(endpoint === undefined ? {} : { forcePathStyle: true }),
  });
}
