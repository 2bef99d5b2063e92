import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloudEnvironment } from '../fixtures/cloud.ts';
import { buildFleet, type Expected, misread, TABLES_ON_S3 } from '../fixtures/fleet-on-s3.ts';
import { viewsOf } from './fixtures/deployed-queries.ts';
import { type FleetDeployment, synthesizeFor } from './fixtures/deployment.ts';
import { resourceOf } from './fixtures/template.ts';
import { LocalCloud } from './local-cloud/local-cloud.ts';

const NAMES = TABLES_ON_S3.map(({ name }) => name);

describe('the synthesized stack, deployed on the local cloud', () => {
  let deployment: FleetDeployment;
  let cloud: LocalCloud;
  let expected: Expected;

  beforeAll(async () => {
    Object.assign(process.env, cloudEnvironment());
    deployment = await synthesizeFor();
    expected = await buildFleet(deployment.root, cloudEnvironment(), NAMES);
    cloud = await LocalCloud.start({ ...deployment, minute: 8 });
  });
  afterAll(() => cloud.stop());

  it('heals the demo fleet by its schedules alone', async () => {
    await cloud.pass(13);

    expect(cloud.trouble).toEqual([]);
    const { tasks } = await viewsOf(cloud, deployment.root).history({ limit: 100 });
    expect(tasks.length).toBeGreaterThan(8);
    expect(tasks.filter(({ state }) => state !== 'done')).toEqual([]);
    expect(await misread(deployment.root, cloudEnvironment(), expected)).toEqual([]);
  });

  it('leaves nothing that its own rules would still do', async () => {
    const queries = viewsOf(cloud, deployment.root);
    for (const name of NAMES) {
      const { rules } = await queries.explain(`${deployment.root}/${name}.lance`);
      expect(
        rules.filter(({ due, rule }) => due && rule !== 'wal-garbage'),
        name,
      ).toEqual([]);
    }
  });

  it('puts nothing among the dead letters', async () => {
    expect(await cloud.deadLetters()).toBe(0);
  });

  it('tells the stream’s function nothing of leases that are only renewed or taken', () => {
    expect(cloud.stream.delivered).toBeGreaterThan(20);
    expect(cloud.stream.filteredOut).toBeGreaterThan(20);
  });
});

type Break = (template: FleetDeployment['template']) => void;

/** One sweep, without the minute's repair: what heals then was healed by the wiring itself. */
async function healsByItself(wrong: Break): Promise<{ healed: boolean; trouble: readonly string[] }> {
  const deployment = await synthesizeFor();
  const template = structuredClone(deployment.template);
  const [recover] = resourceOf(template, 'AWS::Scheduler::Schedule', 'SweepsRecover');
  Reflect.deleteProperty(template.Resources, recover);
  wrong(template);
  const expected = await buildFleet(deployment.root, cloudEnvironment(), ['fragmented']);
  const cloud = await LocalCloud.start({ ...deployment, template, minute: 9 });
  try {
    await cloud.pass(1);
    const queries = viewsOf(cloud, deployment.root);
    const { keyIndex, fragments } = await queries.inspect(`${deployment.root}/fragmented.lance`);
    const whole = (await misread(deployment.root, cloudEnvironment(), expected)).length === 0;
    return { healed: whole && fragments < 16 && keyIndex?.kind === 'BTree', trouble: cloud.trouble };
  } finally {
    await cloud.stop();
  }
}

function properties(template: FleetDeployment['template'], type: string, idBegins: string): Record<string, unknown> {
  return resourceOf(template, type, idBegins)[1].Properties as Record<string, unknown>;
}

describe('one sweep and nothing else', () => {
  it('heals a table when the wiring is right', async () => {
    expect(await healsByItself(() => undefined)).toEqual({ healed: true, trouble: [] });
  });

  it('does not when the stream’s filter lets the wrong items through', async () => {
    const { healed } = await healsByItself((template) => {
      const mapping = properties(template, 'AWS::Lambda::EventSourceMapping', 'LedgerStream');
      const Pattern = JSON.stringify({ dynamodb: { Keys: { sk: { S: ['TASKS'] } } } });
      mapping.FilterCriteria = { Filters: [{ Pattern }] };
    });
    expect(healed).toBe(false);
  });

  it('does not when a function lacks a right', async () => {
    const { healed, trouble } = await healsByItself((template) => {
      const policy = properties(template, 'AWS::IAM::Policy', 'CompactWorkerRole');
      const document = policy.PolicyDocument as { Statement: { Sid?: string }[] };
      document.Statement = document.Statement.filter(({ Sid }) => Sid !== 'Objects');
    });
    expect(healed).toBe(false);
    expect(trouble.join()).toMatch(/denied: s3:GetObject on arn:aws:s3:::lake-.*\/tables\/fragmented\.lance/);
  });

  it('does not when a queue has lost its layer', async () => {
    const { healed } = await healsByItself((template) => {
      properties(template, 'AWS::Lambda::Function', 'CompactWorkerFunction').Layers = [];
    });
    expect(healed).toBe(false);
  });

  it('does not when a schedule asks for a sweep that nobody knows', async () => {
    const { healed, trouble } = await healsByItself((template) => {
      const { Target } = properties(template, 'AWS::Scheduler::Schedule', 'SweepsCompaction');
      (Target as { Input: string }).Input = JSON.stringify({ sweep: 'compact' });
    });
    expect(healed).toBe(false);
    expect(trouble.join()).toMatch(/names no sweep/);
  });

  it('does not when a variable names another queue than the queue’s', async () => {
    const { healed, trouble } = await healsByItself((template) => {
      const { Environment } = properties(template, 'AWS::Lambda::Function', 'LedgerStreamFunction');
      const { Variables } = Environment as { Variables: Record<string, unknown> };
      Variables.UPKEEP_INDEX_ID_QUEUE = Variables.UPKEEP_INDEX_ID_DEAD_LETTERS;
    });
    expect(healed).toBe(false);
    expect(trouble.join()).toMatch(/denied: sqs:SendMessage/);
  });
});
