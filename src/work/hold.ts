import { errorRecord } from '../errors.ts';
import { placeHold, removeHold } from '../lance/hold-commit.ts';
import type { TableManifest } from '../lance/manifest.ts';
import type { WorkContext, WorkDependencies } from './context.ts';

/** Leaves only the fragments of `group` to optimize(), in place of the hold that is there. Answers the newest manifest. */
export type HoldAllBut = (group: readonly number[]) => Promise<TableManifest>;

/**
 * Runs `work`, which may place one hold after the other, and takes the last one away whatever happens: after a failure,
 * at the deadline and at a shutdown too. Only a process that dies or loses its lease leaves a hold behind; whoever holds
 * the lease next begins with removing it.
 */
export async function withHold<T>(
  context: WorkContext,
  dependencies: WorkDependencies,
  work: (holdAllBut: HoldAllBut) => Promise<T>,
): Promise<T> {
  const store = dependencies.storageFor(context.target);
  const { now } = dependencies;
  const remove = () => removeHold(store, { beforePut: () => context.fence({ whileStopping: true }), now });
  let result: T;
  try {
    result = await work((group) => placeHold(store, group, { beforePut: () => context.fence(), now }));
  } catch (error) {
    try {
      await remove();
    } catch (left) {
      const { code, message } = errorRecord(left);
      context.progress(`HOLD_LEFT: the hold stays until the next pass removes it: ${code}: ${message}`);
    }
    throw error;
  }
  await remove();
  return result;
}

/** Takes away the hold that a predecessor left in `manifest`; only the holder of the lease may. Answers the newest manifest. */
export async function removeLeftHold(context: WorkContext, dependencies: WorkDependencies): Promise<TableManifest> {
  const store = dependencies.storageFor(context.target);
  context.progress('removing the hold that an earlier attempt left behind');
  return removeHold(store, { beforePut: () => context.fence(), now: dependencies.now });
}
