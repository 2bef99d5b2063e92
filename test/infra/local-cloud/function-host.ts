import { pathToFileURL } from 'node:url';

/** One invocation, as the parent process sends it. */
export interface Invocation {
  readonly event: unknown;
  readonly requestId: string;
  readonly timeoutMs: number;
  /** How far the test's clock is ahead of this machine's. */
  readonly aheadMs: number;
}

export type Outcome = { readonly result: unknown } | { readonly error: string };

/** One sandbox of Lambda: loads a bundled handler once, and runs one event after the other with it. */
const [file = '', exported = ''] = process.argv.slice(2);
const realNow = Date.now.bind(Date);
let aheadMs = 0;
Date.now = () => realNow() + aheadMs;

type Handler = (event: unknown, context: unknown) => Promise<unknown>;
let loaded: Promise<Record<string, Handler>> | undefined;

process.on('message', (invocation: Invocation) => {
  aheadMs = invocation.aheadMs;
  run(invocation).then(
    (result) => process.send?.({ result } satisfies Outcome),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? `${error.stack}` : String(error) } satisfies Outcome),
  );
});

async function run({ event, requestId, timeoutMs }: Invocation): Promise<unknown> {
  loaded ??= import(pathToFileURL(file).href) as Promise<Record<string, Handler>>;
  const handler = (await loaded)[exported];
  if (!handler) throw new Error(`${file} exports no ${exported}.`);
  const end = performance.now() + timeoutMs;
  const getRemainingTimeInMillis = () => Math.max(0, end - performance.now());
  return handler(event, { awsRequestId: requestId, getRemainingTimeInMillis });
}
