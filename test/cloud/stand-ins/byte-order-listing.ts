interface StoredObject {
  readonly key: string;
}

export interface BucketStore {
  readonly buckets: Map<string, Map<string, StoredObject>>;
  listObjects(bucket: string, options?: ListingOptions): unknown;
}

interface ListingOptions {
  readonly prefix?: string;
  readonly delimiter?: string;
  readonly maxKeys?: number;
  readonly startAfter?: string;
  readonly marker?: string;
}

/** fauxqs sorts by locale and pages by code unit, which skips keys; S3 lists in the byte order of UTF-8. */
export function listInByteOrder(store: BucketStore): void {
  const original = store.listObjects.bind(store);
  store.listObjects = (bucket, options = {}) => {
    const objects = store.buckets.get(bucket);
    return objects === undefined ? original(bucket, options) : page(objects, options);
  };
}

function page(stored: ReadonlyMap<string, StoredObject>, options: ListingOptions) {
  const { prefix = '', delimiter, maxKeys = 1000 } = options;
  const after = options.startAfter ?? options.marker ?? '';
  const keys = [...stored.keys()]
    .filter((key) => key.startsWith(prefix) && key > after)
    .sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
  const objects: StoredObject[] = [];
  const commonPrefixes = new Set<string>();
  for (const key of keys) {
    const end = delimiter ? key.indexOf(delimiter, prefix.length) : -1;
    const rolled = end < 0 ? undefined : key.slice(0, end + 1);
    if (rolled !== undefined && (rolled <= after || commonPrefixes.has(rolled))) continue;
    if (objects.length + commonPrefixes.size >= maxKeys) {
      return { objects, commonPrefixes: [...commonPrefixes], isTruncated: true };
    }
    const object = stored.get(key);
    if (rolled !== undefined) commonPrefixes.add(rolled);
    else if (object) objects.push(object);
  }
  return { objects, commonPrefixes: [...commonPrefixes], isTruncated: false };
}
