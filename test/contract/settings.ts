import type { LifecycleSettings } from '../../src/tasks/api.ts';

export const SETTINGS: LifecycleSettings = {
  taskCooldownAfterFailures: 3,
  taskHistoryMs: 7 * 86_400_000,
  compactConcurrency: 10,
  indexIdConcurrency: 10,
  mergeWalConcurrency: 4,
  optimizeIndicesConcurrency: 4,
  pruneConcurrency: 2,
  indexAfterCompaction: true,
};
