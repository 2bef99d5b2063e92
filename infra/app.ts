import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { UpkeepError } from '../src/errors.ts';
import { LanceUpkeepStack } from './lance-upkeep-stack.ts';
import { stackSettings } from './settings.ts';

/** What `cdk synth` and `cdk deploy` run. A bad setting ends it with a sentence instead of a stack trace. */
async function main(): Promise<void> {
  const app = new App();
  const settings = await stackSettings(app.node.getAllContext(), process.env);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  new LanceUpkeepStack(app, 'LanceUpkeep', { settings });
  app.synth();
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UpkeepError)) throw error;
  process.stderr.write(`error ${error.code}: ${error.message}\n  next: ${error.next ?? 'see docs/deploy.md'}\n`);
  process.exitCode = 1;
}
