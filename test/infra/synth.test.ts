import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from './fixtures/synthesized.ts';
import type { CloudTemplate } from './fixtures/template.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const CDK = join(REPOSITORY, 'node_modules', '.bin', 'cdk');
const run = promisify(execFile);

/** No proxy answers at this address, so that whatever looks for the network does not find it; nor are there credentials. */
const OFFLINE = {
  HTTPS_PROXY: 'http://127.0.0.1:9',
  HTTP_PROXY: 'http://127.0.0.1:9',
  AWS_EC2_METADATA_DISABLED: 'true',
};

function synth(...context: readonly string[]) {
  const output = temporaryFolder();
  const words = ['synth', '--quiet', '--output', output, ...context.flatMap((one) => ['-c', one])];
  const env = {
    PATH: `${join(REPOSITORY, 'node_modules', '.bin')}:/usr/bin:/bin`,
    HOME: temporaryFolder(),
    TMPDIR: tmpdir(),
    ...OFFLINE,
  };
  return { output, done: run(CDK, words, { cwd: REPOSITORY, env }) };
}

describe('cdk synth', () => {
  it('works without network, Docker and an account, and finds nothing to complain of', async () => {
    const { output, done } = synth('roots=s3://lake/tables');
    const { stderr } = await done;
    expect(stderr).not.toMatch(/ERROR|WARNING/);
    const template = JSON.parse(readFileSync(join(output, 'LanceUpkeep.template.json'), 'utf8')) as CloudTemplate;
    const kinds = ['Compact', 'IndexId', 'MergeWal', 'OptimizeIndices', 'Prune'];
    expect(Object.keys(template.Outputs).sort()).toEqual(
      [
        ...kinds.flatMap((kind) => [`${kind}DeadLetters`, `${kind}Queue`]),
        ...[...kinds, 'Sweep', 'Stream'].flatMap((name) => [`${name}Function`, `${name}Logs`]),
        'LedgerTable',
        'Roots',
        'StreamFailures',
      ].sort(),
    );
  });

  it('answers a missing root with a message instead of a stack trace', async () => {
    const { stderr } = (await synth().done.catch((error: unknown) => error)) as { stderr: string };
    expect(stderr).toContain('error ROOTS_MISSING: No roots are named');
    expect(stderr).toContain('next: Give them as -c roots=s3://bucket/prefix');
    expect(stderr).not.toMatch(/ at .*\.ts:\d+/);
  });
});
