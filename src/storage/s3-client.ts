import { S3Client } from '@aws-sdk/client-s3';

/** Region, credentials and endpoints come from the environment, as the SDK reads them. */
export type AwsEnvironment = Readonly<Record<string, string | undefined>>;

/** No SDK retries: the object store repeats requests itself, since it must know whether a conditional PUT was sent twice. */
export function createS3Client(environment: AwsEnvironment): S3Client {
  const endpoint = environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL;
  return new S3Client({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 60_000 },
    // Another S3 than Amazon's rarely has a host name for each bucket.
    ...(endpoint === undefined ? {} : { forcePathStyle: true }),
  });
}
