import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { WORDS } from '../../infra/settings.ts';
import { parseMessage } from '../../src/tasks/message.ts';
import { jsonOf } from './fixtures/synthesized.ts';
import { resourcesOf } from './fixtures/template.ts';

function page(name: string): string {
  return readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
}

describe('docs/operations.md', () => {
  it('has the section that each alarm names, and names each alarm', async () => {
    const text = page('operations.md');
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    for (const [, { Properties }] of resourcesOf(await jsonOf(), 'AWS::CloudWatch::Alarm')) {
      const { AlarmName, AlarmDescription } = Properties as { AlarmName: string; AlarmDescription: string };
      expect(headings).toContain(/"(.+)"/.exec(AlarmDescription)?.[1]);
      const name = AlarmName.replace(/^LanceUpkeep-(warning|critical)-/, '').replace(
        /-(Compact|IndexId|MergeWal|OptimizeIndices|Prune)$/,
        '-<kind>',
      );
      expect(text).toContain(`\`${name}\``);
    }
  });
});

describe('the outputs of the stack', () => {
  it('name every function, every queue and every log group, and the runbook calls them by these names', async () => {
    const template = await jsonOf();
    const refs = Object.values(template.Outputs).map(({ Value }) => (Value as { Ref?: string }).Ref);
    for (const type of ['AWS::Lambda::Function', 'AWS::SQS::Queue', 'AWS::Logs::LogGroup']) {
      for (const [id] of resourcesOf(template, type)) expect(refs, id).toContain(id);
    }
    const text = page('operations.md');
    const named = [...text.matchAll(/outputs? `?([^)]*)/g)].flatMap(([, list = '']) =>
      [...list.matchAll(/[A-Z][A-Za-z]+(?:Function|Logs|Failures)/g)].map(([name]) => name),
    );
    expect(named.length).toBeGreaterThan(10);
    for (const name of named) expect(Object.keys(template.Outputs)).toContain(name);
  });
});

describe('docs/aws.md', () => {
  it('has one line that sends a message: to a queue that is an output, with a body that becomes a task', async () => {
    const [, output = '', body = ''] =
      /^aws sqs send-message .*OutputKey=='(\w+)'.* --message-body '([^']+)'$/m.exec(page('aws.md')) ?? [];
    const { kind } = parseMessage(body);
    expect(output).toBe(`${kind}Queue`);
    expect(Object.keys((await jsonOf()).Outputs)).toContain(output);
  });
});

describe('docs/deploy.md', () => {
  it('names every alarm that rings before the first sweep', async () => {
    const [paragraph = ''] = /^Alarms ring before the first sweep: .*$/m.exec(page('deploy.md')) ?? [];
    const silent = resourcesOf(await jsonOf(), 'AWS::CloudWatch::Alarm')
      .map(([, { Properties }]) => Properties as { AlarmName: string; TreatMissingData: string })
      .filter(({ TreatMissingData }) => TreatMissingData === 'breaching');
    expect(silent.length).toBeGreaterThan(0);
    for (const { AlarmName } of silent)
      expect(paragraph).toContain(`\`${AlarmName.replace(/^LanceUpkeep-\w+-/, '')}\``);
  });

  it.each(WORDS)('explains -c %s', (word) => {
    expect(page('deploy.md')).toMatch(new RegExp(`^\\| .*\`${word}\``, 'm'));
  });
});
