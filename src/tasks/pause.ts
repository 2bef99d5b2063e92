/** What is paused: everything, or all tables below a root or folder, or one table. */
export interface Pause {
  /** `*`, or a canonical URI without a slash at its end. */
  readonly scope: string;
  /** The person or program that paused it. */
  readonly by: string;
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

export const EVERYTHING = '*';

/** True when a pause of this scope keeps tasks of the target from beginning. */
export function covers({ scope }: Pick<Pause, 'scope'>, target: string): boolean {
  return scope === EVERYTHING || scope === target || target.startsWith(scope === '/' ? scope : `${scope}/`);
}
