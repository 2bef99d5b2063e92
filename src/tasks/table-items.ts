import type { ErrorRecord } from '../errors.ts';
import { anyOf, equals, lacks, unchanged } from './conditions.ts';
import { defined, HOLDER_ATTRIBUTE, healthKey, leaseKey, openKey, reader, shardOf } from './items.ts';
import type { Attributes, Condition, Item, Write } from './ports.ts';
import type { Health, TaskKind } from './task.ts';

/** OPEN#kind: `current` was claimed at least once and has not ended; `next` was never claimed. */
export interface OpenTasks {
  readonly current?: string;
  readonly next?: string;
}

export interface LeaseHolder {
  readonly claimId: string;
  readonly taskId: string;
  readonly kind: TaskKind;
  /** Names the process. */
  readonly process: string;
  readonly expiresAt: number;
}

export interface Lease {
  readonly token: number;
  readonly holder?: LeaseHolder;
  readonly lastKind?: TaskKind;
  readonly releasedAt?: number;
}

export const LEASE_MS = 180_000;
export const RENEW_EVERY_MS = 60_000;
export const EXPIRY_GRACE_MS = 30_000;

const HOLDER_ATTRIBUTES = [HOLDER_ATTRIBUTE, 'holderTaskId', 'holderKind', 'holderProcess', 'expiresAt', 'leaseShard'];

export function readOpen(item: Item | undefined): OpenTasks {
  const get = reader(item?.attributes ?? {});
  return defined({ current: get.optionalText('current'), next: get.optionalText('next') });
}

export function readLease(item: Item | undefined): Lease {
  const get = reader(item?.attributes ?? {});
  const claimId = get.optionalText(HOLDER_ATTRIBUTE);
  const holder = claimId && {
    claimId,
    taskId: get.text('holderTaskId'),
    kind: get.text('holderKind') as TaskKind,
    process: get.text('holderProcess'),
    expiresAt: get.number('expiresAt') ?? 0,
  };
  return {
    token: get.number('token') ?? 0,
    ...(holder ? { holder } : {}),
    ...defined({
      lastKind: get.optionalText('lastKind') as TaskKind | undefined,
      releasedAt: get.number('releasedAt'),
    }),
  };
}

export function readHealth(item: Item | undefined, target: string, kind: TaskKind): Health {
  const get = reader(item?.attributes ?? {});
  return {
    kind,
    target,
    streak: get.number('streak') ?? 0,
    ...defined({
      cooldownUntil: get.number('cooldownUntil'),
      lastSuccess: get.json<NonNullable<Health['lastSuccess']>>('lastSuccess'),
      lastFailure: get.json<NonNullable<Health['lastFailure']>>('lastFailure'),
    }),
  };
}

/** Expired: 30 s past its end, or its process is known to be gone. */
export function isExpired(holder: LeaseHolder, now: number, holderGone: (process: string) => boolean): boolean {
  return now > holder.expiresAt + EXPIRY_GRACE_MS || holderGone(holder.process);
}

/** Takes a free lease, if it is unchanged since it was read. */
export function takeLease(target: string, lease: Lease, holder: LeaseHolder): Write {
  const sameToken = unchanged('token', lease.token === 0 ? undefined : lease.token);
  return {
    kind: 'update',
    key: leaseKey(target),
    set: {
      target,
      token: lease.token + 1,
      [HOLDER_ATTRIBUTE]: holder.claimId,
      holderTaskId: holder.taskId,
      holderKind: holder.kind,
      holderProcess: holder.process,
      lastKind: holder.kind,
      expiresAt: holder.expiresAt,
      leaseShard: shardOf(target),
    },
    when: [lacks(HOLDER_ATTRIBUTE), sameToken],
  };
}

/** Clears the holder. The item is never deleted, because its token must never restart. */
export function releaseLease(target: string, set: Attributes, when: readonly Condition[]): Write {
  return { kind: 'update', key: leaseKey(target), set, remove: HOLDER_ATTRIBUTES, when };
}

export function heldBy(claimId: string, token: number): readonly Condition[] {
  return [equals(HOLDER_ATTRIBUTE, claimId), equals('token', token)];
}

/** After a success: no streak, no cooldown. */
export function succeeded(target: string, kind: TaskKind, success: NonNullable<Health['lastSuccess']>): Write {
  return {
    kind: 'update',
    key: healthKey(target, kind),
    set: { target, kind, streak: 0, lastSuccess: JSON.stringify(success) },
    remove: ['cooldownUntil'],
    when: [],
  };
}

/** After a counted failure. Refused when the streak has changed since it was read, so no failure is lost. */
export function failedAgain(
  health: Health,
  cooldownUntil: number | undefined,
  failure: { readonly at: number; readonly taskId: string; readonly error: ErrorRecord },
): Write {
  const stored = { ...failure, error: { ...failure.error, message: failure.error.message.slice(0, 2_000) } };
  const sameStreak =
    health.streak === 0 ? anyOf(lacks('streak'), equals('streak', 0)) : equals('streak', health.streak);
  return {
    kind: 'update',
    key: healthKey(health.target, health.kind),
    set: {
      target: health.target,
      kind: health.kind,
      streak: health.streak + 1,
      lastFailure: JSON.stringify(stored),
      ...(cooldownUntil === undefined ? {} : { cooldownUntil }),
    },
    when: [sameStreak],
  };
}

/** Writes OPEN#kind as `after`, if it is still `before`. */
export function changeOpen(target: string, kind: TaskKind, before: OpenTasks, after: OpenTasks): Write {
  return {
    kind: 'update',
    key: openKey(target, kind),
    set: { target, kind, ...defined(after) },
    remove: (['current', 'next'] as const).filter((name) => after[name] === undefined),
    when: [unchanged('current', before.current), unchanged('next', before.next)],
  };
}
