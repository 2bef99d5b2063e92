import { startDynamoDbLocal } from './dynamodb-local.ts';
import { startS3AndSqs } from './s3-and-sqs.ts';

/** The local cloud as one process: prints its endpoints as one line of JSON, and ends when its stdin does. */
const [dynamodb, s3AndSqs] = await Promise.all([startDynamoDbLocal(), startS3AndSqs()]);

async function stop(): Promise<void> {
  await Promise.all([dynamodb.stop(), s3AndSqs.stop()]);
  process.exit(0);
}

process.stdin.on('end', () => void stop()).resume();
process.stdout.write(
  `${JSON.stringify({ dynamodb: dynamodb.endpoint, s3: s3AndSqs.endpoint, sqs: s3AndSqs.endpoint })}\n`,
);
