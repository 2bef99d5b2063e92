import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamRecord } from '../../../src/aws/dynamo-stream-records.ts';
import { StreamReader } from '../../fixtures/dynamo-ledger-world.ts';
import type { DeployedFunction } from './deployed-function.ts';
import { passes } from './event-patterns.ts';
import { failuresIn } from './queue-source.ts';

export interface StreamSourceOptions {
  readonly table: string;
  readonly function: DeployedFunction;
  readonly batchSize: number;
  readonly filters: readonly unknown[];
  readonly maximumRetries: number;
  readonly bisects: boolean;
  readonly reportsFailures: boolean;
  /** What becomes of a batch that is given up. */
  readonly onGivenUp: (records: number) => Promise<void>;
}

const PAUSE_MS = 40;
const RETRY_MS = 50;

/** Lambda's poller of one stream, from its beginning: filters, batches, retries, bisects, and gives up. */
export class StreamSource {
  readonly #options: StreamSourceOptions;
  #reader: StreamReader;
  #last = -1n;
  readonly #stop = new AbortController();
  #polling: Promise<void> | undefined;
  #emptyPolls = 0;
  /** Records that passed the filters. */
  delivered = 0;
  /** Records that did not. */
  filteredOut = 0;

  constructor(options: StreamSourceOptions) {
    this.#options = options;
    this.#reader = new StreamReader(options.table);
  }

  start(): void {
    this.#polling = this.#poll();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#polling;
  }

  get idle(): boolean {
    return this.#emptyPolls >= 3;
  }

  lookAgain(): void {
    this.#emptyPolls = 0;
  }

  async #poll(): Promise<void> {
    const { filters, batchSize } = this.#options;
    while (!this.#stop.signal.aborted) {
      const records = await this.#read();
      const passed = records.filter((record) => filters.length === 0 || filters.some((one) => passes(one, record)));
      this.filteredOut += records.length - passed.length;
      this.delivered += passed.length;
      for (let at = 0; at < passed.length; at += batchSize) await this.#deliver(passed.slice(at, at + batchSize), 0);
      this.#emptyPolls = records.length === 0 ? this.#emptyPolls + 1 : 0;
      if (records.length === 0) await sleep(PAUSE_MS);
    }
  }

  /** DynamoDB Local now and then calls an iterator too old; then it is read from the beginning again, past what is known. */
  async #read(): Promise<readonly StreamRecord[]> {
    let records: readonly StreamRecord[];
    try {
      records = await this.#reader.next();
    } catch (error) {
      if ((error as Error).name !== 'TrimmedDataAccessException') throw error;
      this.#reader = new StreamReader(this.#options.table);
      return [];
    }
    const fresh = records.filter((record) => sequenceOf(record) > this.#last);
    for (const record of fresh) this.#last = sequenceOf(record);
    return fresh;
  }

  /** Like Lambda: again from the lowest failed record on; halves when the function itself fails; in the end it gives up. */
  async #deliver(records: readonly StreamRecord[], tries: number): Promise<void> {
    if (records.length === 0 || this.#stop.signal.aborted) return;
    let rest: readonly StreamRecord[] = records;
    let threw = false;
    try {
      const answer = await this.#options.function.invoke({ Records: records });
      const failed = this.#options.reportsFailures ? failuresIn(answer) : new Set<string>();
      const first = records.findIndex(({ dynamodb }) => failed.has(dynamodb?.SequenceNumber ?? ''));
      if (first < 0) return;
      rest = records.slice(first);
    } catch {
      threw = true;
    }
    if (tries >= this.#options.maximumRetries) return this.#options.onGivenUp(rest.length);
    await sleep(RETRY_MS);
    const half = Math.ceil(rest.length / 2);
    if (!this.#options.bisects || !threw || rest.length === 1) return this.#deliver(rest, tries + 1);
    await this.#deliver(rest.slice(0, half), tries + 1);
    await this.#deliver(rest.slice(half), tries + 1);
  }
}

function sequenceOf({ dynamodb }: StreamRecord): bigint {
  return BigInt(dynamodb?.SequenceNumber ?? 0);
}
