import type { ErrorRecord } from '../errors.ts';

/** The fields of a line. Nothing else is written, so no body, key or credential slips in. */
export interface LogFields {
  readonly stage: string;
  readonly message: string;
  readonly level?: 'info' | 'warn' | 'error';
  readonly target?: string;
  readonly kind?: string;
  readonly taskId?: string;
  /** Fencing token of the lease. */
  readonly token?: number;
  readonly code?: string;
  readonly requestId?: string;
  /** Of a dead letter, as `dlq list` shows it. */
  readonly messageId?: string;
}

export interface Log {
  write(fields: LogFields): void;
  error(stage: string, error: ErrorRecord, about?: Pick<LogFields, 'target' | 'kind' | 'taskId' | 'token'>): void;
}

/** Messages quote LanceDB and the SDK, which quote URLs and options. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/\b((?:AKIA|ASIA)[A-Z0-9]{4})[A-Z0-9]{12}\b/g, '$1…'],
  [/(X-Amz-(?:Signature|Credential|Security-Token)=)[^&\s"']+/gi, '$1…'],
  [/((?:secret_?access_?key|session_?token|authorization)["']?\s*[:=]\s*["']?)[^"',}\s]+/gi, '$1…'],
];

/** One JSON object a line. `write` gets whole lines; `base` goes into each. */
export function createLog(options: {
  readonly write: (line: string) => void;
  readonly now: () => number;
  readonly base: Readonly<Record<string, string>>;
}): Log {
  function write({ level = 'info', stage, message, ...fields }: LogFields): void {
    const line = {
      time: new Date(options.now()).toISOString(),
      level,
      ...options.base,
      stage,
      message: withoutSecrets(message),
      ...fields,
    };
    options.write(`${JSON.stringify(line)}\n`);
  }
  return {
    write,
    error(stage, { code, message }, about = {}) {
      write({ level: 'error', stage, message, code, ...about });
    },
  };
}

export function withoutSecrets(text: string): string {
  return SECRETS.reduce((left, [pattern, replacement]) => left.replace(pattern, replacement), text);
}
