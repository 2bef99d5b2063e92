import { UpkeepError } from '../errors.ts';
import { targetOutsideRoots } from '../fleet/errors.ts';
import { canonicalRoot, canonicalTarget } from '../fleet/targets.ts';
import type { Lifecycle } from '../tasks/api.ts';
import { covers, EVERYTHING, type Pause } from '../tasks/pause.ts';
import type { Clock } from '../tasks/ports.ts';
import type { Operator } from './operator.ts';
import type { PauseReport } from './reports.ts';

export interface PauseOptions {
  readonly lifecycle: Pick<Lifecycle, 'pause' | 'resume' | 'pauses'>;
  /** Canonical; empty where the ledger knows any. */
  readonly roots: readonly string[];
  readonly clock: Pick<Clock, 'now'>;
}

/** Pausing and resuming. */
export function createPauses({ lifecycle, roots, clock }: PauseOptions): Pick<Operator, 'pause' | 'resume'> {
  async function scopeOf(named: string | undefined): Promise<string> {
    if (named === undefined) return EVERYTHING;
    if (/\.lance\/*$/.test(named)) return canonicalTarget(named, roots);
    const folder = await canonicalRoot(named);
    const ours = roots.some((root) => covers({ scope: root }, folder) || covers({ scope: folder }, root));
    if (roots.length > 0 && !ours) throw targetOutsideRoots(folder, roots);
    return folder;
  }

  return {
    async pause({ scope, by, reason }) {
      const asked: Pause = { scope: await scopeOf(scope), by, reason, since: clock.now() };
      await lifecycle.pause(asked);
      return pauseReport(asked);
    },
    async resume({ scope: named }) {
      const scope = await scopeOf(named);
      if (await lifecycle.resume(scope)) return;
      const others = (await lifecycle.pauses()).filter((pause) => covers(pause, scope));
      const what = scope === EVERYTHING ? 'everything' : scope;
      throw new UpkeepError(`There is no pause of ${what}.`, {
        code: 'PAUSE_NOT_FOUND',
        disposition: 'permanent',
        next:
          others.length > 0
            ? `It is paused with ${others.map((pause) => (pause.scope === EVERYTHING ? 'everything (--all)' : pause.scope)).join(', ')}: resume that.`
            : '"lance-upkeep status" shows what is paused.',
      });
    },
  };
}

export function pauseReport({ scope, by, reason, since }: Pause): PauseReport {
  return { scope: scope === EVERYTHING ? null : scope, by, reason, since: new Date(since).toISOString() };
}

/** What `status` and `explain` say of a table that a pause covers. */
export function pauseMessages(pauses: readonly Pause[], target: string): readonly string[] {
  return pauses
    .filter((pause) => covers(pause, target))
    .map(({ scope, by, reason, since }) => {
      const what = scope === EVERYTHING ? 'Everything' : scope === target ? 'This table' : `Everything below ${scope}`;
      return `${what} is paused since ${new Date(since).toISOString()} by ${by}: ${reason}. What runs ends, and nothing new begins.`;
    });
}
