/** True for a text that names a place by a scheme, such as `s3://bucket/db`: not a path of this machine. */
export function isUri(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

/** True for what lies on S3. */
export function isOnS3(text: string): boolean {
  return /^s3:\/\//i.test(text);
}
