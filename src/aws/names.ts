import { UpkeepError } from '../errors.ts';
import { TASK_KINDS, type TaskKind } from '../tasks/task.ts';

/** Where a stack's ledger and queues are. */
export interface CloudNames {
  /** The DynamoDB table. */
  readonly table: string;
  /** URLs of each kind's queue and of its dead-letter queue. */
  readonly queues: Readonly<Record<TaskKind, { readonly url: string; readonly deadLetters: string }>>;
}

interface NameDefinition {
  /** In the environment of the functions and of the command line. */
  readonly variable: string;
  /** Key of the stack's output with the same value. */
  readonly output: string;
}

const TABLE: NameDefinition = { variable: 'UPKEEP_TABLE', output: 'LedgerTable' };
const QUEUES: Readonly<Record<TaskKind, { readonly queue: NameDefinition; readonly deadLetters: NameDefinition }>> = {
  Compact: namesOf('COMPACT', 'Compact'),
  IndexId: namesOf('INDEX_ID', 'IndexId'),
  MergeWal: namesOf('MERGE_WAL', 'MergeWal'),
  OptimizeIndices: namesOf('OPTIMIZE_INDICES', 'OptimizeIndices'),
  Prune: namesOf('PRUNE', 'Prune'),
};
/** The stack's output with the roots, separated by commas as in UPKEEP_ROOTS. */
export const ROOTS_OUTPUT = 'Roots';
export const STACK_VARIABLE = 'UPKEEP_STACK';
export const TABLE_VARIABLE = TABLE.variable;

function namesOf(variable: string, output: string) {
  return {
    queue: { variable: `UPKEEP_${variable}_QUEUE`, output: `${output}Queue` },
    deadLetters: { variable: `UPKEEP_${variable}_DEAD_LETTERS`, output: `${output}DeadLetters` },
  };
}

/** Variables that the environment may hold besides the settings. The check for typos accepts them. */
export const CLOUD_VARIABLES: readonly string[] = [
  STACK_VARIABLE,
  TABLE.variable,
  ...TASK_KINDS.flatMap((kind) => [QUEUES[kind].queue.variable, QUEUES[kind].deadLetters.variable]),
];

/** @throws CLOUD_NAME_MISSING (permanent) */
export function namesFromEnvironment(environment: Readonly<Record<string, string | undefined>>): CloudNames {
  return collect(
    ({ variable }) => environment[variable],
    ({ variable }) => `The variable ${variable} is not set.`,
  );
}

/** @throws CLOUD_NAME_MISSING (permanent) */
export function namesFromOutputs(outputs: ReadonlyMap<string, string>, stack: string): CloudNames {
  return collect(
    ({ output }) => outputs.get(output),
    ({ output }) => `The stack ${stack} has no output ${output}.`,
  );
}

/** The same names as environment variables of the functions. */
export function environmentOf(names: CloudNames): Record<string, string> {
  const entries = TASK_KINDS.flatMap((kind) => [
    [QUEUES[kind].queue.variable, names.queues[kind].url],
    [QUEUES[kind].deadLetters.variable, names.queues[kind].deadLetters],
  ]);
  return { [TABLE.variable]: names.table, ...Object.fromEntries(entries) };
}

/** The same names as outputs of the stack. */
export function outputsOf(names: CloudNames): Record<string, string> {
  const entries = TASK_KINDS.flatMap((kind) => [
    [QUEUES[kind].queue.output, names.queues[kind].url],
    [QUEUES[kind].deadLetters.output, names.queues[kind].deadLetters],
  ]);
  return { [TABLE.output]: names.table, ...Object.fromEntries(entries) };
}

function collect(
  look: (definition: NameDefinition) => string | undefined,
  complaint: (definition: NameDefinition) => string,
): CloudNames {
  const find = (definition: NameDefinition): string => {
    const value = look(definition);
    if (value) return value;
    throw new UpkeepError(complaint(definition), {
      code: 'CLOUD_NAME_MISSING',
      disposition: 'permanent',
      next: 'docs/aws.md lists the names; `--stack <name>` reads them from the stack’s outputs.',
    });
  };
  const entries = TASK_KINDS.map((kind) => {
    const { queue, deadLetters } = QUEUES[kind];
    return [kind, { url: find(queue), deadLetters: find(deadLetters) }] as const;
  });
  return { table: find(TABLE), queues: Object.fromEntries(entries) as unknown as CloudNames['queues'] };
}
