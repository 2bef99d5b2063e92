import type { AttemptContext, Perform } from '../tasks/task.ts';
import { compact } from './compact.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { indexId } from './index-id.ts';
import { namedFailure } from './lost-files.ts';
import { mergeWal } from './merge-wal.ts';
import { optimizeIndices } from './optimize-indices.ts';
import { prune } from './prune.ts';

/** What each kind of task does, on real tables. */
export function createPerform(dependencies: WorkDependencies): Perform {
  const perform = performKind(dependencies);
  return async (attempt) => {
    try {
      return await perform(attempt);
    } catch (error) {
      throw await namedFailure(error, attempt.task, dependencies.storageFor(attempt.task.target));
    }
  };
}

function performKind(dependencies: WorkDependencies): Perform {
  return (attempt) => {
    const context = contextOf(attempt);
    switch (attempt.task.kind) {
      case 'Compact':
        return compact(context, dependencies);
      case 'IndexId':
        return indexId(context, dependencies);
      case 'MergeWal':
        return mergeWal(context, dependencies);
      case 'OptimizeIndices':
        return optimizeIndices(context, dependencies);
      case 'Prune':
        return prune(context, dependencies);
    }
  };
}

function contextOf(attempt: AttemptContext): WorkContext {
  return {
    target: attempt.task.target,
    signal: attempt.signal,
    remainingMs: () => attempt.remainingMs(),
    fence: (options) => attempt.fence(options),
    baseVersion: (current) => attempt.baseVersion(current),
    native: (run) => attempt.native(run),
    progress: (line) => attempt.progress(line),
  };
}
