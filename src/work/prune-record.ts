import { randomUUID } from 'node:crypto';
import type { ObjectStore } from '../lance/object-store.ts';
import { databaseUri } from './lancedb.ts';
import type { PruneBatch } from './prune-plan.ts';
import { upkeepFolder } from './scratch.ts';

/** Keys in one recorded object: about 1 MB. */
const KEYS_PER_PART = 10_000;
const FORMAT = 1;

interface RecordedPart {
  readonly format: number;
  readonly target: string;
  readonly recordedAt: string;
  readonly headVersion: number;
  readonly manifests: readonly string[];
  readonly files: readonly string[];
}

/** What passes that did not end had found to be needed by pruned versions only. */
export interface RecordedPlans {
  /** Keys of the plans themselves. */
  readonly plans: readonly string[];
  /** Keys of files below the table. */
  readonly files: ReadonlySet<string>;
}

/**
 * Where a prune writes down what it is about to delete: `<database>/_lance_upkeep/prune/<digest of the target>/`. Once its manifests are
 * gone, nothing else knows that a file was theirs, and a pass that died would leave it until it has aged as an orphan.
 */
export class PruneRecord {
  readonly #store: ObjectStore;
  readonly #target: string;
  readonly #folder: string;

  constructor(storageFor: (uri: string) => ObjectStore, target: string) {
    this.#store = storageFor(databaseUri(target));
    this.#target = target;
    this.#folder = `${upkeepFolder(target, 'prune')}/`;
  }

  /** The plans of passes that did not end. An object that is no plan of this table is left alone. */
  async read(): Promise<RecordedPlans> {
    const plans: string[] = [];
    const files = new Set<string>();
    for (const { key } of (await this.#store.list(this.#folder)).objects) {
      const bytes = await this.#store.get(key);
      const part = bytes && parsed(bytes);
      if (part?.format !== FORMAT || part.target !== this.#target) continue;
      plans.push(key);
      for (const file of part.files) files.add(file);
    }
    return { plans, files };
  }

  /** Writes a batch down, in parts; answers their keys for `drop`. */
  async write(batch: PruneBatch, headVersion: number, now: number): Promise<readonly string[]> {
    const manifests = batch.versions.map(({ key }) => key);
    const files = batch.files.map(({ key }) => key);
    const name = `${this.#folder}${now}-${randomUUID()}`;
    const keys: string[] = [];
    for (let at = 0; at < Math.max(manifests.length, files.length); at += KEYS_PER_PART) {
      const part: RecordedPart = {
        format: FORMAT,
        target: this.#target,
        recordedAt: new Date(now).toISOString(),
        headVersion,
        manifests: manifests.slice(at, at + KEYS_PER_PART),
        files: files.slice(at, at + KEYS_PER_PART),
      };
      const key = `${name}-${keys.length + 1}.json`;
      await this.#store.putIfAbsent(key, new TextEncoder().encode(JSON.stringify(part)));
      keys.push(key);
    }
    return keys;
  }

  async drop(plans: readonly string[]): Promise<void> {
    for (const key of plans) await this.#store.delete(key);
  }
}

function parsed(bytes: Uint8Array): RecordedPart | undefined {
  try {
    const part: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return part !== null && typeof part === 'object' && Array.isArray(Reflect.get(part, 'files'))
      ? (part as RecordedPart)
      : undefined;
  } catch (error) {
    // Something else's file: without a plan its files only wait until they have aged as orphans.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
