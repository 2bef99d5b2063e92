import { buildApp } from 'fauxqs';
import { type BucketStore, listInByteOrder } from './byte-order-listing.ts';
import { type CountedRequest, type FaultOrder, Faults } from './faults.ts';

type App = ReturnType<typeof buildApp>;
type Stores = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>['stores']>;

export interface S3AndSqs {
  readonly endpoint: string;
  stop(): Promise<void>;
}

interface RouteParameters {
  readonly bucket?: string;
  readonly '*'?: string;
}

const PRECONDITION_FAILED =
  '<?xml version="1.0" encoding="UTF-8"?><Error><Code>PreconditionFailed</Code><Message>A condition did not hold.</Message></Error>';

/**
 * fauxqs on a free loopback port, made to keep the promises that Lance relies on: conditional PUTs are enforced, listings
 * are in byte order. Under `/__stand-in/` tests order faults and read which requests came.
 */
export async function startS3AndSqs(): Promise<S3AndSqs> {
  const stores = await ownStores();
  const faults = new Faults();
  const app = buildApp({ logger: false, stores });
  listInByteOrder(stores.s3Store as unknown as BucketStore);
  serveControl(app, faults);
  countRequests(app, faults);
  injectFaults(app, faults);
  enforceConditions(app, stores.s3Store as unknown as BucketStore);
  const endpoint = await app.listen({ port: 0, host: '127.0.0.1' });
  return { endpoint, stop: async () => app.close() };
}

/** The package exports its server only; the stores are needed to look whether a key is there. */
async function ownStores(): Promise<Stores> {
  const home = import.meta.resolve('fauxqs');
  const load = async (path: string, name: string) => {
    const module = (await import(new URL(path, home).href)) as Record<string, new () => unknown>;
    const Store = module[name];
    if (!Store) throw new Error(`fauxqs has no ${name} in ${path}: another version?`);
    return new Store();
  };
  return {
    sqsStore: await load('./sqs/sqsStore.js', 'SqsStore'),
    snsStore: await load('./sns/snsStore.js', 'SnsStore'),
    s3Store: await load('./s3/s3Store.js', 'S3Store'),
  } as Stores;
}

/** Check and write happen in one turn of the event loop: fauxqs's own handlers wait for nothing. */
function enforceConditions(app: App, store: BucketStore): void {
  app.addHook('preHandler', (request, reply, next) => {
    const ifNoneMatch = request.headers['if-none-match'];
    const ifMatch = request.headers['if-match'];
    const completing = request.method === 'POST' && Object.hasOwn((request.query ?? {}) as object, 'uploadId');
    const { bucket, '*': key } = (request.params ?? {}) as RouteParameters;
    if ((request.method !== 'PUT' && !completing) || bucket === undefined || !key) return next();
    const present = store.buckets.get(bucket)?.get(key) as { etag?: string } | undefined;
    const refused =
      (ifNoneMatch === '*' && present !== undefined) || (ifMatch !== undefined && present?.etag !== ifMatch);
    if (!refused) return next();
    reply.code(412).header('content-type', 'application/xml').send(PRECONDITION_FAILED);
  });
}

function injectFaults(app: App, faults: Faults): void {
  app.addHook('preHandler', (request, reply, next) => {
    const fault = faults.take(request.method, request.url);
    if (!fault) return next();
    if (fault.afterWriting) {
      // The write is done and its answer replaced: what a lost reply looks like to a client.
      reply.header('x-stand-in-fault', String(fault.status));
      return next();
    }
    reply.code(fault.status).header('content-type', 'application/xml').send(errorXml(fault));
  });
  app.addHook('onSend', (_request, reply, payload, next) => {
    const status = Number(reply.getHeader('x-stand-in-fault') ?? 0);
    if (status === 0) return next(null, payload);
    reply.code(status).removeHeader('x-stand-in-fault');
    next(null, errorXml({ status }));
  });
}

function errorXml({ status }: Pick<FaultOrder, 'status'>): string {
  const code = status === 503 ? 'SlowDown' : status === 409 ? 'ConditionalRequestConflict' : 'InternalError';
  return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>Injected.</Message></Error>`;
}

function countRequests(app: App, faults: Faults): void {
  app.addHook('onSend', (request, reply, payload, next) => {
    const bytes = payload === null || payload === undefined ? 0 : Buffer.byteLength(payload as string | Buffer);
    const counted: CountedRequest = { method: request.method, url: request.url, status: reply.statusCode, bytes };
    faults.count(counted);
    next(null, payload);
  });
}

function serveControl(app: App, faults: Faults): void {
  app.get('/__stand-in/requests', async (request) => {
    const { path = '/' } = request.query as { path?: string };
    return { requests: faults.requestsOf(path) };
  });
  app.get('/__stand-in/faults', async (request) => {
    const { order = '' } = request.query as { order?: string };
    faults.order(JSON.parse(order) as FaultOrder);
    return { ordered: true };
  });
}
