/** Emphasis for a terminal. Every painted word also says what it means, so plain output loses nothing. */
export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  dim(text: string): string;
  strong(text: string): string;
}

const PLAIN: Paint = { good: same, bad: same, dim: same, strong: same };

const COLOURED: Paint = {
  good: (text) => `\u001b[32m${text}\u001b[39m`,
  bad: (text) => `\u001b[31m${text}\u001b[39m`,
  dim: (text) => `\u001b[2m${text}\u001b[22m`,
  strong: (text) => `\u001b[1m${text}\u001b[22m`,
};

function same(text: string): string {
  return text;
}

/** Colour only on a terminal that can show it, and never against NO_COLOR, TERM=dumb or `--no-color`. */
export function choosePaint(options: {
  readonly isTTY: boolean;
  readonly wanted: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}): Paint {
  const refused = (options.env.NO_COLOR ?? '') !== '' || options.env.TERM === 'dumb';
  return options.isTTY && options.wanted && !refused ? COLOURED : PLAIN;
}
