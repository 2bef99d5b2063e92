import type { Lifecycle } from '../tasks/api.ts';

/**
 * Gives every task whose last holder was killed one forced attempt, whatever it has to wait for. The lifecycle counts a
 * lost holder as a failure, so that work which kills its worker is not tried for ever; but whoever starts a runner anew
 * wants it to go on. Called when everything else is done, so that such work can take nothing else with it.
 */
export async function resumeInterrupted(
  lifecycle: Lifecycle,
  targets: readonly string[],
  newId: () => string,
): Promise<number> {
  let resumed = 0;
  for (const target of targets) {
    const open = (await lifecycle.openTasks(target)).filter((task) => task.state === 'queued');
    if (open.length === 0) continue;
    const health = await lifecycle.health(target);
    for (const { kind } of open) {
      if (health[kind].streak === 0 || health[kind].lastFailure?.error.code !== 'HOLDER_LOST') continue;
      await lifecycle.admit({ taskId: newId(), kind, target, reason: 'runner-restarted', force: true });
      resumed += 1;
    }
  }
  return resumed;
}
