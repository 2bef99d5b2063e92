import type { LifecycleSettings } from '../../src/tasks/api.ts';

export const SETTINGS: LifecycleSettings = {
  taskCooldownAfterFailures: 3,
  taskHistoryMs: 7 * 86_400_000,
  mergeWalConcurrency: 4,
  indexAfterCompaction: true,
};
