import { type ErrorRecord, UpkeepError } from '../errors.ts';

export function targetInvalid(input: string, why: string): UpkeepError {
  return new UpkeepError(`${JSON.stringify(input)} cannot be a target: ${why}.`, {
    code: 'TARGET_INVALID',
    disposition: 'permanent',
    next: 'Name a table by its path or URI, such as /data/db/events.lance or s3://bucket/db/events.lance.',
    details: { input },
  });
}

export function targetOutsideRoots(target: string, roots: readonly string[]): UpkeepError {
  const listed = roots.length === 0 ? 'there are none' : roots.join(', ');
  return new UpkeepError(`${target} is not under any of the roots (${listed}).`, {
    code: 'TARGET_OUTSIDE_ROOTS',
    disposition: 'permanent',
    next: 'Add the database directory to the roots (UPKEEP_ROOTS, or on the command line), or name a table under one of them.',
    details: { target, roots },
  });
}

export function rootInvalid(input: string, why: string): UpkeepError {
  return new UpkeepError(`${JSON.stringify(input)} cannot be a root: ${why}.`, {
    code: 'ROOT_INVALID',
    disposition: 'permanent',
    next: 'Name the database directory that holds the `.lance` directories, or an S3 prefix such as s3://bucket/db.',
    details: { input },
  });
}

/** Something that looks like a table under a root and is not maintained. */
export function tableLeftOut(target: string, why: string, next: string): UpkeepError {
  return new UpkeepError(`${target} looks like a table and is left out: ${why}.`, {
    code: 'TABLE_LEFT_OUT',
    disposition: 'permanent',
    next,
    details: { target },
  });
}

export function rootOwned(root: string, owner: { ledgerId: string; ledger: string; claimedAt: string }): UpkeepError {
  return new UpkeepError(
    `${root} is maintained by another ledger: ${owner.ledger} (${owner.ledgerId}), since ${owner.claimedAt}.`,
    {
      code: 'ROOT_OWNED',
      disposition: 'permanent',
      next: `Use that ledger. To take over, stop everything that works with it, delete ${root}/_lance_upkeep/owner.json and try again.`,
      details: { root, ...owner },
    },
  );
}

export function rootOwnerUnreadable(root: string, why: string): UpkeepError {
  return new UpkeepError(`The owner marker ${root}/_lance_upkeep/owner.json cannot be read: ${why}.`, {
    code: 'ROOT_OWNER_UNREADABLE',
    disposition: 'permanent',
    next: 'Find out which ledger maintains this root; if none does, delete the marker and try again.',
    details: { root },
  });
}

/** True for what says that a root is, or may be, another ledger's: from then on nothing may begin below it. */
export function isForeignRoot({ code }: Pick<ErrorRecord, 'code'>): boolean {
  return code === 'ROOT_OWNED' || code === 'ROOT_OWNER_UNREADABLE';
}
