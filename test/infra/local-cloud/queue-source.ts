import { setTimeout as sleep } from 'node:timers/promises';
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { recordOf } from '../../fixtures/event-sources.ts';
import { type DeployedFunction, Throttled } from './deployed-function.ts';

export interface QueueSourceOptions {
  readonly client: SQSClient;
  readonly url: string;
  readonly function: DeployedFunction;
  readonly batchSize: number;
  readonly maximumConcurrency: number | undefined;
  /** Without it an answer means nothing, and all messages of a batch are deleted. */
  readonly reportsFailures: boolean;
  readonly onProblem: (problem: string) => void;
  /** Of the queue, in minutes of the test's clock. */
  readonly visibilityMinutes: number;
  /** The test's clock. */
  readonly minute: () => number;
}

/** What pollers have in hand when nothing holds them back; more than a cap of 1 lets run, as on AWS. */
const UNBOUNDED = 10;
const PAUSE_MS = 40;

/** Lambda's poller of one queue: receives as much as may run, and deletes what the function did not name as failed. */
export class QueueSource {
  readonly #options: QueueSourceOptions;
  readonly #stop = new AbortController();
  readonly #inHand = new Set<Promise<void>>();
  /** Messages that were throttled, and when they are seen again. */
  #hidden: { readonly receipt: string; readonly until: number }[] = [];
  #emptyPolls = 0;
  #polling: Promise<void> | undefined;

  constructor(options: QueueSourceOptions) {
    this.#options = options;
  }

  start(): void {
    this.#polling = this.#poll();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#polling;
    await Promise.all(this.#inHand);
  }

  /** Nothing in hand, and nothing came for some polls. */
  get idle(): boolean {
    return this.#inHand.size === 0 && this.#emptyPolls >= 3;
  }

  /** Shows what was throttled long enough ago. */
  async showDue(): Promise<void> {
    const due = this.#hidden.filter(({ until }) => until <= this.#options.minute());
    this.#hidden = this.#hidden.filter((one) => !due.includes(one));
    for (const { receipt } of due) {
      const request = { QueueUrl: this.#options.url, ReceiptHandle: receipt, VisibilityTimeout: 0 };
      await this.#options.client.send(new ChangeMessageVisibilityCommand(request));
    }
  }

  /** What was there before does not count any more. */
  lookAgain(): void {
    this.#emptyPolls = 0;
  }

  async #poll(): Promise<void> {
    const { batchSize, maximumConcurrency = UNBOUNDED } = this.#options;
    while (!this.#stop.signal.aborted) {
      const room = (maximumConcurrency - this.#inHand.size) * batchSize;
      const messages = room > 0 ? await this.#receive(Math.min(10, room)) : [];
      this.#emptyPolls = room > 0 && messages.length === 0 ? this.#emptyPolls + 1 : 0;
      for (let at = 0; at < messages.length; at += batchSize) {
        const work: Promise<void> = this.#deliver(messages.slice(at, at + batchSize)).finally(() => {
          this.#inHand.delete(work);
          // What it let go of is there again, and its end may have sent more.
          this.#emptyPolls = 0;
        });
        this.#inHand.add(work);
      }
      if (messages.length === 0) await sleep(PAUSE_MS);
    }
  }

  async #receive(MaxNumberOfMessages: number): Promise<readonly Message[]> {
    const request = new ReceiveMessageCommand({
      QueueUrl: this.#options.url,
      MaxNumberOfMessages,
      MessageSystemAttributeNames: ['All'],
      MessageAttributeNames: ['All'],
    });
    return (await this.#options.client.send(request)).Messages ?? [];
  }

  async #deliver(messages: readonly Message[]): Promise<void> {
    try {
      const answer = await this.#options.function.invoke({ Records: messages.map(recordOf) });
      const failed = this.#options.reportsFailures ? failuresIn(answer) : new Set<string>();
      for (const message of messages) if (!failed.has(message.MessageId ?? '')) await this.#delete(message);
    } catch (error) {
      if (error instanceof Throttled) return this.#hide(messages);
      // Its messages come again after the queue's visibility timeout.
      this.#options.onProblem(`${this.#options.function.options.id}: ${(error as Error).message}`);
    }
  }

  async #delete({ ReceiptHandle = '' }: Message): Promise<void> {
    await this.#options.client.send(new DeleteMessageCommand({ QueueUrl: this.#options.url, ReceiptHandle }));
  }

  /** As on Lambda: nobody shows a throttled message again before its queue's visibility timeout does. */
  #hide(messages: readonly Message[]): void {
    const until = this.#options.minute() + this.#options.visibilityMinutes;
    for (const { ReceiptHandle = '' } of messages) this.#hidden.push({ receipt: ReceiptHandle, until });
  }
}

export function failuresIn(answer: unknown): ReadonlySet<string> {
  const failures =
    (answer as { batchItemFailures?: { itemIdentifier: string }[] } | undefined)?.batchItemFailures ?? [];
  return new Set(failures.map(({ itemIdentifier }) => itemIdentifier));
}
