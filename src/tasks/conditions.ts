import type { HOLDER_ATTRIBUTE } from './items.ts';
import type { Condition, TTL_ATTRIBUTE } from './ports.ts';

/** The attributes that conditions test. A condition on a misspelt attribute would be false for ever. */
export type TestedAttribute =
  | typeof HOLDER_ATTRIBUTE
  | typeof TTL_ATTRIBUTE
  | 'attempts'
  | 'claimId'
  | 'cooldownUntil'
  | 'current'
  | 'expiresAt'
  | 'firstBaseVersion'
  | 'force'
  | 'hasDependents'
  | 'next'
  | 'observedAt'
  | 'pendingDependencies'
  | 'rank'
  | 'reasonCount'
  | 'state'
  | 'streak'
  | 'token'
  | 'wakeAt';

export const EXISTS: Condition = { test: 'exists' };
export const ABSENT: Condition = { test: 'absent' };

export function equals(attribute: TestedAttribute, value: string | number | boolean): Condition {
  return { test: 'equals', attribute, value };
}

export function lessThan(attribute: TestedAttribute, value: number): Condition {
  return { test: 'less', attribute, value };
}

export function lacks(attribute: TestedAttribute): Condition {
  return { test: 'lacks', attribute };
}

/** The attribute is as it was read: absent for undefined. */
export function unchanged(attribute: TestedAttribute, value: string | number | undefined): Condition {
  return value === undefined ? lacks(attribute) : equals(attribute, value);
}

/** Of a string set. */
export function contains(attribute: TestedAttribute, value: string): Condition {
  return { test: 'contains', attribute, value };
}

/** Of a string set. */
export function sizeIs(attribute: TestedAttribute, value: number): Condition {
  return { test: 'size', attribute, value };
}

export function anyOf(...of: readonly Condition[]): Condition {
  return { test: 'any', of };
}
