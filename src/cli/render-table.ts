export interface Column {
  readonly title: string;
  /** Numbers stand right. Default: left. */
  readonly align?: 'left' | 'right';
}

/** Text, or text with an emphasis that is put on after the padding, so that it does not count for the width. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

/**
 * A table of aligned columns, two spaces apart, without a frame; every line ends in a newline and none in a blank.
 * Line breaks and other control characters in a cell become blanks: a cell is one line, and data cannot steer a terminal.
 */
export function renderTable(columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
  const titles: Cell[] = columns.map((column) => column.title);
  const lines = [titles, ...rows].map((cells) => columns.map((_, index) => cellText(cells[index] ?? '')));
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => cells[index]?.text.length ?? 0)));
  return lines.map((cells) => `${renderLine(columns, widths, cells)}\n`).join('');
}

interface CellText {
  readonly text: string;
  readonly paint: ((text: string) => string) | undefined;
}

function cellText(cell: Cell): CellText {
  const text = typeof cell === 'string' ? cell : cell.text;
  return { text: oneLine(text), paint: typeof cell === 'string' ? undefined : cell.paint };
}

/** The text on one line: whitespace runs and control characters become one blank. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
}

function renderLine(columns: readonly Column[], widths: readonly number[], cells: readonly CellText[]): string {
  const parts = cells.map(({ text, paint }, index) => {
    const fill = ' '.repeat((widths[index] ?? 0) - text.length);
    const shown = paint && text !== '' ? paint(text) : text;
    return columns[index]?.align === 'right' ? fill + shown : shown + fill;
  });
  return parts.join('  ').trimEnd();
}
