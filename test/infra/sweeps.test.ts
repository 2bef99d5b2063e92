import { describe, expect, it } from 'vitest';
import { scheduleExpression } from '../../infra/quiet-hours.ts';
import { jsonOf } from './fixtures/synthesized.ts';
import { resourceOf, resourcesOf } from './fixtures/template.ts';

interface Target {
  readonly Arn: unknown;
  readonly Input: string;
}

async function schedules(context: Readonly<Record<string, string>> = {}) {
  const template = await jsonOf(context);
  const [sweep] = resourceOf(template, 'AWS::Lambda::Function', 'SweepsSweepFunction');
  const found = resourcesOf(template, 'AWS::Scheduler::Schedule').map(([, { Properties }]) => {
    const { Arn, Input } = Properties.Target as Target;
    expect(Arn).toEqual({ 'Fn::GetAtt': [sweep, 'Arn'] });
    const { sweep: pass } = JSON.parse(Input) as { sweep: string };
    return [pass, Properties.ScheduleExpression, Properties.ScheduleExpressionTimezone] as const;
  });
  return Object.fromEntries(found.map(([pass, ...when]) => [pass, when.filter(Boolean).join(' ')]));
}

describe('the schedules', () => {
  it('start the three sweeps at their intervals, and the repair each minute', async () => {
    expect(await schedules()).toEqual({
      compaction: 'rate(10 minutes)',
      merge: 'rate(10 minutes)',
      tails: 'rate(60 minutes)',
      recover: 'rate(1 minute)',
    });
  });

  it('follow the settings', async () => {
    expect(await schedules({ COMPACTION_INTERVAL: '300', MERGE_WAL_TAIL_INTERVAL: '7200' })).toMatchObject({
      compaction: 'rate(5 minutes)',
      tails: 'rate(120 minutes)',
    });
  });

  it('leave the tables alone in quiet hours, but repair all the same', async () => {
    expect(await schedules({ quietHours: '22-6', timeZone: 'Europe/Berlin' })).toEqual({
      compaction: 'cron(0/10 6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21 * * ? *) Europe/Berlin',
      merge: 'cron(0/10 6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21 * * ? *) Europe/Berlin',
      tails: 'cron(0 6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21 * * ? *) Europe/Berlin',
      recover: 'rate(1 minute)',
    });
  });

  it('start a sweep once: no second run of a failed one, since the next is near', async () => {
    const template = await jsonOf();
    const [, { Properties }] = resourceOf(template, 'AWS::Lambda::EventInvokeConfig', 'SweepsSweep');
    expect(Properties.MaximumRetryAttempts).toBe(0);
  });
});

describe('an interval', () => {
  it('of hours is counted from the first loud hour', () => {
    const quiet = { from: 2, until: 20, timeZone: 'UTC' };
    expect(scheduleExpression(2 * 3_600_000, quiet)).toBe('cron(0 20,22,0 * * ? *)');
  });

  it.each([90_000, 30_000])('of %s ms is refused: the scheduler counts whole minutes', (intervalMs) => {
    expect(() => scheduleExpression(intervalMs, undefined)).toThrow(/whole minutes/);
  });

  it.each([7, 90, 300])(
    'of %s minutes is refused with quiet hours, which no hour or day is a multiple of',
    (minutes) => {
      const quiet = { from: 22, until: 6, timeZone: 'UTC' };
      expect(() => scheduleExpression(minutes * 60_000, quiet)).toThrow(/divide/);
    },
  );
});
