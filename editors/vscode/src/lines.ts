/**
 * Which line of the source each line of a listing comes from, while the source is being edited: lines after an edit move
 * with it.
 */

export type Lines = readonly (number | null)[];

/** A change of the source: lines `first` to `last` are now `now` lines more than the first. */
export interface Change {
  readonly first: number;
  readonly last: number;
  readonly now: number;
}

/** The changes that made a version of the source. */
export interface Edit {
  readonly version: number;
  readonly changes: readonly Change[];
}

export function moved(lines: Lines, changes: readonly Change[]): Lines {
  return changes.reduce<Lines>((before, change) => before.map((line) => (line === null ? null : shifted(line, change))), lines);
}

function shifted(line: number, { first, last, now }: Change): number {
  if (line > last) return line + first + now - last;
  // Within what was replaced there is no telling; its first lines are as good as any.
  return Math.min(line, first + now);
}

/** The lines of a listing that come from a range of the source. */
export function linesFrom(lines: Lines, first: number, last: number): number[] {
  return lines.flatMap((line, index) => (line !== null && first <= line && line <= last ? [index] : []));
}

/** Neighbouring lines as ranges, both ends within. */
export function runs(lines: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const line of lines) {
    const last = found.at(-1);
    if (last !== undefined && last[1] + 1 === line) last[1] = line;
    else found.push([line, line]);
  }
  return found;
}
