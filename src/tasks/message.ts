import { z } from 'zod';
import { UpkeepError } from '../errors.ts';
import { MAX_ID_LENGTH, TASK_KINDS, type TaskRequest } from './task.ts';

const MAX_TARGET_BYTES = 900;
const id = z
  .string()
  .max(MAX_ID_LENGTH)
  .regex(/^[\x21-\x7e]+$/, `must be 1 to ${MAX_ID_LENGTH} printable ASCII characters without spaces`);

const schema = z.strictObject({
  kind: z.enum(TASK_KINDS),
  target: z
    .string()
    .min(1)
    .refine((target) => Buffer.byteLength(target) <= MAX_TARGET_BYTES, `must be at most ${MAX_TARGET_BYTES} bytes`),
  taskId: id.optional(),
  dependsOn: z.array(id).optional(),
  reason: z.string().max(500).optional(),
  force: z.boolean().optional(),
});

/**
 * Reads the body of a message. The target is as it was sent: not canonical yet.
 * Errors (permanent): MESSAGE_NOT_JSON; MESSAGE_FIELDS_UNKNOWN, MESSAGE_INVALID with the fields' names in `details`.
 * @example parseMessage('{"kind":"Compact","target":"s3://data/db/x.lance"}')
 */
export function parseMessage(body: string): TaskRequest {
  const parsed = schema.safeParse(parseJson(body));
  if (!parsed.success) throw refusal(parsed.error.issues);
  return Object.fromEntries(
    Object.entries(parsed.data).filter(([, value]) => value !== undefined),
  ) as unknown as TaskRequest;
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new UpkeepError('The message body is not JSON.', {
      code: 'MESSAGE_NOT_JSON',
      disposition: 'permanent',
      next: 'Send an object such as {"kind":"Compact","target":"s3://bucket/prefix/x.lance"}.',
      cause: error,
    });
  }
}

function refusal(issues: readonly z.core.$ZodIssue[]): UpkeepError {
  const unknown = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []));
  if (unknown.length > 0) {
    return new UpkeepError(`The message has fields that are not known: ${unknown.join(', ')}.`, {
      code: 'MESSAGE_FIELDS_UNKNOWN',
      disposition: 'permanent',
      next: 'A message has kind and target, and may have taskId, dependsOn, reason and force.',
      details: { fields: unknown },
    });
  }
  const fields = issues.map((issue) => issue.path.join('.') || 'body');
  const messages = issues.map((issue, index) => `${fields[index]}: ${issue.message}`);
  return new UpkeepError(`The message is not valid: ${messages.join('; ')}.`, {
    code: 'MESSAGE_INVALID',
    disposition: 'permanent',
    next: 'Correct the fields named and send it again.',
    details: { fields },
  });
}
