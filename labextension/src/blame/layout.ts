/** Where the parts of a pickle stand in an icicle: as wide as their bytes, what they hold below. */

import type { Anatomy } from "./anatomy";

export interface Block {
  readonly part: number;
  readonly x: number;
  readonly width: number;
  readonly row: number;
  /** So many parts, too narrow for a block each, from `part` on; 1 is a block of its own. */
  readonly together: number;
  /** What it holds stands below it. */
  readonly isOpen: boolean;
}

/** Narrower ones stand together, px. */
const NARROWEST = 3;
/** What cannot be pickled has few bytes or none, and has to be seen, px. */
const BROKEN_PX = 16;

export type Weight = (part: number) => number;

/** Blocks from a root down, row by row; a row beyond the last says by `isOpen` that more follows. */
export function blocksOf(
  anatomy: Anatomy,
  root: number,
  width: number,
  rows: number,
  weight: Weight,
): Block[] {
  const blocks: Block[] = [];
  const add = (part: number, x: number, wide: number, row: number): void => {
    const inside = anatomy.children(part);
    const isOpen = inside.length > 0 && row + 1 < rows;
    blocks.push({ part, x, width: wide, row, together: 1, isOpen });
    if (!isOpen) {
      return;
    }
    const { rest, shares } = sharesOf(anatomy, inside, wide, weight(part), weight);
    let left = x;
    shares.forEach((share, at) => {
      add(inside[at] as number, left, share, row + 1);
      left += share;
    });
    if (rest >= 1) {
      const together = inside.length - shares.length;
      const first = inside[shares.length] as number;
      blocks.push({ part: first, x: left, width: rest, row: row + 1, together, isOpen: false });
    }
  };
  if (anatomy.count > 0 && rows > 0) {
    add(root, 0, width, 0);
  }
  return blocks;
}

/** Widths of those that get a block, and what those behind them get together, px. */
function sharesOf(
  anatomy: Anatomy,
  inside: readonly number[],
  wide: number,
  whole: number,
  weight: Weight,
): { shares: number[]; rest: number } {
  const weights = inside.map(weight);
  const sum = weights.reduce((total, each) => total + each, 0);
  const total = Math.max(whole, sum);
  const brokenCount = inside.filter(anatomy.isBroken).length;
  const least = brokenCount > 0 ? Math.min(BROKEN_PX, wide / 2 / brokenCount) : 0;
  const room = wide - least * brokenCount;
  const widthOf = (at: number): number =>
    (total > 0 ? (room * (weights[at] as number)) / total : room / inside.length) +
    (anatomy.isBroken(inside[at] as number) ? least : 0);
  const widths = inside.map((_, at) => widthOf(at));
  const cut = widths.findIndex((each) => each < NARROWEST);
  // One that is narrow is as good alone as together.
  const kept = cut < 0 || cut === widths.length - 1 ? widths.length : cut;
  const rest = widths.slice(kept).reduce((total, each) => total + each, 0);
  return { shares: widths.slice(0, kept), rest };
}

export function blockAt(blocks: readonly Block[], x: number, row: number): Block | null {
  return (
    blocks.find((block) => block.row === row && x >= block.x && x < block.x + block.width) ?? null
  );
}
