import type { Context } from 'aws-lambda';
import { openPlanner, type SweepSummary } from '../src/aws/open-planner.ts';
import { UpkeepError } from '../src/errors.ts';

/** What a schedule sends: which pass is due. */
export interface SweepEvent {
  readonly sweep: 'compaction' | 'merge' | 'tails' | 'all' | 'recover';
}

const SWEEPS: readonly string[] = ['compaction', 'merge', 'tails', 'all', 'recover'];
const planner = await openPlanner(process.env);

/** Observes every table and asks for what it needs; as `recover`, each minute, it repairs what was lost on the way. */
export async function handler(
  event: SweepEvent,
  context: Pick<Context, 'getRemainingTimeInMillis'>,
): Promise<SweepSummary | Awaited<ReturnType<typeof planner.recover>>> {
  if (!SWEEPS.includes(event?.sweep)) {
    throw new UpkeepError(`The event names no sweep: ${JSON.stringify(event)}.`, {
      code: 'SWEEP_UNKNOWN',
      disposition: 'permanent',
      next: `Send {"sweep": one of ${SWEEPS.join(', ')}}.`,
    });
  }
  if (event.sweep === 'recover') return planner.recover();
  return planner.sweep(event.sweep, context.getRemainingTimeInMillis());
}
