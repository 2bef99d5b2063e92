import type { AwsEnvironment } from './s3-client.ts';

/** LanceDB's own names for what the SDK reads from the environment. */
const FROM_ENVIRONMENT = {
  aws_access_key_id: 'AWS_ACCESS_KEY_ID',
  aws_secret_access_key: 'AWS_SECRET_ACCESS_KEY',
  aws_session_token: 'AWS_SESSION_TOKEN',
  region: 'AWS_REGION',
} as const;

/**
 * The options that LanceDB needs for tables on S3. On Amazon's own S3 it finds everything in the environment by itself; only
 * another endpoint has to be told.
 */
export function lancedbStorageOptions(environment: AwsEnvironment): Readonly<Record<string, string>> {
  const endpoint = endpointOf(environment);
  if (endpoint === undefined) return {};
  const known = Object.entries(FROM_ENVIRONMENT).flatMap(([option, variable]) => {
    const value = environment[variable];
    return value ? [[option, value] as const] : [];
  });
  return { ...Object.fromEntries(known), endpoint, ...(endpoint.startsWith('http:') ? { allow_http: 'true' } : {}) };
}

/**
 * The source of a shallow clone ignores the connection's options and reads the process's environment. The name AWS_ENDPOINT is
 * LanceDB's alone: AWS_ENDPOINT_URL would also redirect every client of the SDK.
 */
export function lancedbEnvironment(environment: AwsEnvironment): Readonly<Record<string, string>> {
  const endpoint = endpointOf(environment);
  if (endpoint === undefined) return {};
  return { AWS_ENDPOINT: endpoint, ...(endpoint.startsWith('http:') ? { AWS_ALLOW_HTTP: 'true' } : {}) };
}

function endpointOf(environment: AwsEnvironment): string | undefined {
  return environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL;
}
