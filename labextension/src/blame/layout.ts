/** Where the parts of a pickle stand in an icicle: as wide as their bytes, what they hold below. */

import { bytes, count } from "../document/format";
import { type Measure, measureWith, shortened } from "../kit/canvas";
import { type Colours, FAMILIES } from "../kit/theme";
import { type Anatomy, bytesOf } from "./anatomy";

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

// Paint an icicle: containers grey, leaves in the colour of pickling, buffers hatched.
export const ROW_PX = 26;
/** One pixel of background tells neighbours apart, px. */
const GAP = 1;
const PADDING = 6;
/** A shorter beginning of a name tells nothing, px. */
const LEAST_LABEL = 26;
const HATCH_STEP = 6;
const PICKLE = FAMILIES.indexOf("pickle");
const TINT = 0.3;

/** What the parts of the view share. */
export interface Look {
  readonly anatomy: Anatomy;
  root: number;
  /** Parts that are searched for; null when nothing is. */
  found: ReadonlySet<number> | null;
  weight: Weight;
  amount(part: number): string;
}

export interface Picture extends Omit<Look, "root" | "weight"> {
  readonly context: CanvasRenderingContext2D;
  readonly blocks: readonly Block[];
  readonly colours: Colours;
  readonly width: number;
  readonly height: number;
  readonly cursor: number;
}

export function paintParts(picture: Picture): void {
  const { blocks, colours, context, height, width } = picture;
  context.fillStyle = colours.background;
  context.fillRect(0, 0, width, height);
  for (const block of blocks) {
    paintBlock(picture, block);
  }
  hatch(picture);
  context.font = `12px ${colours.font}`;
  context.textBaseline = "middle";
  const measure = measureWith(context);
  for (const block of blocks) {
    paintLabel(picture, block, measure);
  }
  const here = blocks.find(({ part, together }) => together === 1 && part === picture.cursor);
  if (here) {
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.strokeRect(here.x + 1, here.row * ROW_PX + 1, boxWidth(here) - 2, ROW_PX - GAP - 2);
  }
}

/** Room that a block takes: a whole pixel at least, so that what is there is seen. */
function boxWidth({ width }: Block): number {
  return Math.max(1, width - GAP);
}

function isFaint({ anatomy, found }: Picture, { part, together }: Block): boolean {
  return together > 1 || anatomy.state(part) === "shared" || (found !== null && !found.has(part));
}

function paintBlock(picture: Picture, block: Block): void {
  const { anatomy, colours, context } = picture;
  const { isOpen, part, row, x } = block;
  const isBroken = anatomy.state(part) === "unpicklable" && block.together === 1;
  const [y, wide, high] = [row * ROW_PX, boxWidth(block), ROW_PX - GAP];
  const isContainer = isOpen && block.together === 1;
  const fill = isContainer ? colours.container : (colours.kinds[PICKLE] as string);
  context.fillStyle = isBroken ? colours.background : fill;
  context.globalAlpha = isFaint(picture, block) && !isBroken ? TINT : 1;
  context.fillRect(x, y, wide, high);
  context.globalAlpha = 1;
  if (isBroken || (anatomy.isBroken(part) && block.together === 1)) {
    context.strokeStyle = colours.warn;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, Math.max(1, wide - 2), high - 2);
  }
}

/** The part of each leaf that is handed over as buffers: one clip and one stroke for all. */
function hatch({ anatomy, blocks, context, ...size }: Picture): void {
  context.save();
  context.beginPath();
  for (const block of blocks) {
    const whole = bytesOf(anatomy, block.part);
    if (!block.isOpen && block.together === 1 && whole > 0) {
      const share = (anatomy.outOfBand[block.part] || 0) / whole;
      const wide = boxWidth(block);
      context.rect(block.x + wide * (1 - share), block.row * ROW_PX, wide * share, ROW_PX - GAP);
    }
  }
  context.clip();
  context.beginPath();
  for (let x = -size.height; x < size.width; x += HATCH_STEP) {
    context.moveTo(x, size.height);
    context.lineTo(x + size.height, 0);
  }
  // As .jsp-oob in style/base.css.
  context.strokeStyle = "#fff";
  context.lineWidth = 2;
  context.globalAlpha = 0.6;
  context.stroke();
  context.restore();
}

function paintLabel(picture: Picture, block: Block, measure: Measure): void {
  const { anatomy, colours, context } = picture;
  const room = block.width - 2 * PADDING;
  if (room < LEAST_LABEL) {
    return;
  }
  const text = textsOf(picture, block).find((each) => measure(each) <= room);
  const shown = text ?? shortened(textsOf(picture, block).at(-1) as string, room, measure);
  const isLeaf = !block.isOpen && !isFaint(picture, block);
  const isBroken = anatomy.state(block.part) === "unpicklable";
  const y = block.row * ROW_PX;
  if (isLeaf && !isBroken && (anatomy.outOfBand[block.part] || 0) > 0) {
    // Over a hatched ground nobody could read it.
    context.fillStyle = colours.kinds[PICKLE] as string;
    context.fillRect(block.x, y, measure(shown) + 2 * PADDING, ROW_PX - GAP);
  }
  const ink = isLeaf ? (colours.labels[PICKLE] as string) : colours.ink;
  context.fillStyle = isBroken ? colours.warn : ink;
  context.fillText(shown, block.x + PADDING, y + (ROW_PX - GAP) / 2 + 0.5);
}

/** The longest first. */
function textsOf({ anatomy, amount }: Picture, { part, together }: Block): string[] {
  if (together > 1) {
    return [`${count(together)} smaller`];
  }
  const name = nameOf(anatomy, part);
  return anatomy.state(part) === "unpicklable"
    ? [`✕ ${name} cannot be pickled`, `✕ ${name}`]
    : [`${name}  ${amount(part)}`, name];
}

/** "[0] ×1,000" for equal neighbours that are told as one. */
export function nameOf(anatomy: Anatomy, part: number): string {
  const copies = anatomy.copies[part] as number;
  return anatomy.label(part) + (copies > 1 ? ` ×${count(copies)}` : "");
}

export function bytesText(anatomy: Anatomy, part: number): string {
  return bytes(bytesOf(anatomy, part));
}
