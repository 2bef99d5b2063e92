import { type Disposition, errorRecord, UpkeepError } from '../errors.ts';

/** The outcome of one part of an attempt, for example one shard. `error` is absent after success. */
export interface PartOutcome {
  readonly name: string;
  readonly error?: unknown;
}

/**
 * Judges an attempt by its parts. Nothing failed: undefined. Some failed and some succeeded: the sentence for
 * `WorkResult.partial`, naming each that failed. None succeeded: throws; contention or permanent only if all were.
 */
export function assertPartsDone(outcomes: readonly PartOutcome[]): string | undefined {
  const failed = outcomes.filter((outcome) => outcome.error !== undefined);
  if (failed.length === 0) return undefined;
  const records = failed.map(({ name, error }) => ({ name, record: errorRecord(error) }));
  const sentence = records.map(({ name, record }) => `${name}: ${record.code} ${record.message}`).join(' | ');
  if (failed.length < outcomes.length) return `${failed.length} of ${outcomes.length} parts failed. ${sentence}`;
  const dispositions = new Set(records.map(({ record }) => record.disposition));
  const [only] = dispositions;
  const disposition: Disposition = dispositions.size === 1 && only ? only : 'failure';
  const leading = records.find(({ record }) => record.disposition === disposition) ?? records[0];
  throw new UpkeepError(`No part succeeded. ${sentence}`, {
    code: leading?.record.code ?? 'UNEXPECTED',
    disposition,
    ...(leading?.record.next === undefined ? {} : { next: leading.record.next }),
    cause: failed[0]?.error,
    details: { parts: records.map(({ name, record }) => ({ name, code: record.code })) },
  });
}
