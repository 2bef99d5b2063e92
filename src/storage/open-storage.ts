import type { ObjectStore } from '../lance/object-store.ts';
import { isOnS3 } from '../uri.ts';
import { createFileObjectStore } from './file-object-store.ts';

/** How tables are reached: the object store of a URI, and what LanceDB has to be told for it. */
export interface Storage {
  readonly storageFor: (uri: string) => ObjectStore;
  readonly lancedbOptions: Readonly<Record<string, string>>;
}

/**
 * Chooses by scheme: paths on this machine's disk, `s3://` through the SDK, which is loaded only where a root needs it. For S3
 * the process's environment gets what the source of a shallow clone reads from there.
 */
export async function openStorage(roots: readonly string[], environment: NodeJS.ProcessEnv): Promise<Storage> {
  if (!roots.some(isOnS3)) return { storageFor: createFileObjectStore, lancedbOptions: {} };
  const [{ createS3Client }, { createS3ObjectStore }, lancedb] = await Promise.all([
    import('./s3-client.ts'),
    import('./s3-object-store.ts'),
    import('./lancedb-storage.ts'),
  ]);
  const client = createS3Client(environment);
  Object.assign(environment, lancedb.lancedbEnvironment(environment));
  return {
    storageFor: (uri) => (isOnS3(uri) ? createS3ObjectStore({ client, uri }) : createFileObjectStore(uri)),
    lancedbOptions: lancedb.lancedbStorageOptions(environment),
  };
}
