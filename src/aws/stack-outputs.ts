import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { UpkeepError } from '../errors.ts';

/** Reads the outputs of a deployed stack. */
export type ReadOutputs = (stack: string) => Promise<ReadonlyMap<string, string>>;

/** @throws STACK_NOT_FOUND (permanent), STACK_UNREADABLE (failure) */
export async function readStackOutputs(
  stack: string,
  client: Pick<CloudFormationClient, 'send'> = new CloudFormationClient({}),
): Promise<ReadonlyMap<string, string>> {
  try {
    const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stack }));
    const outputs = Stacks[0]?.Outputs ?? [];
    return new Map(outputs.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]));
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 300) : String(error);
    // CloudFormation has no separate error for a missing stack.
    const missing = error instanceof Error && error.name === 'ValidationError';
    throw new UpkeepError(`The stack ${stack} cannot be read: ${reason}`, {
      code: missing ? 'STACK_NOT_FOUND' : 'STACK_UNREADABLE',
      disposition: missing ? 'permanent' : 'failure',
      next: 'Check the name, the region (AWS_REGION) and the credentials.',
      cause: error,
    });
  }
}
