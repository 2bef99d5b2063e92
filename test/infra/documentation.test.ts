import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { WORDS } from '../../infra/settings.ts';
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

describe('docs/deploy.md', () => {
  it.each(WORDS)('explains -c %s', (word) => {
    expect(page('deploy.md')).toMatch(new RegExp(`^\\| .*\`${word}\``, 'm'));
  });
});
