/** A cell magic on top of a cell: what the reader typed stays. */

export type CellMagic = "%%serprof" | "%%graphstages";

const ON_TOP = /^(\s*)%%(?:serprof|graphstages)\b/;
const INSIDE = /^\s*%%?(?:serprof|graphstages)\b/m;

/** Return the source with the magic on top; one of ours that is there keeps its options. */
export function withMagic(source: string, magic: CellMagic): string {
  if (ON_TOP.test(source)) {
    return source.replace(ON_TOP, (_, space) => `${space}${magic}`);
  }
  return INSIDE.test(source) ? source : `${magic}\n${source}`;
}
