/** The icicle of an anatomy: a canvas with a cursor that keys and pointer move. */

import type { Part, Stage } from "../frame/part";
import { coalesced, fitted } from "../kit/canvas";
import { element } from "../kit/dom";
import { actionOf } from "../kit/keys";
import { coloursOf } from "../kit/theme";
import { tooltipIn } from "../lanes/facts";
import { type Anatomy, pathOf } from "./anatomy";
import { type Block, blockAt, blocksOf, paintParts, ROW_PX, type Weight } from "./layout";
import { partFacts, partSentence } from "./tree";

/** Deeper parts are one click away. */
const MOST_ROWS = 12;

/** What the parts of the view share. */
export interface Look {
  readonly anatomy: Anatomy;
  root: number;
  found: ReadonlySet<number> | null;
  weight: Weight;
  amount(part: number): string;
}

export interface Icicle extends Part {
  /** Put the cursor on a part that a row of the tree stands for. */
  mark(part: number): void;
}

export function icicle(look: Look, shared: Stage, zoom: (part: number) => void): Icicle {
  const { anatomy } = look;
  const canvas = element("canvas", "jsp-canvas jsp-icicle");
  const frame = element("div", "jsp-lanes-frame", canvas);
  const tip = tooltipIn(frame);
  /** Below 0 until somebody moves it. */
  let cursor = -1;
  let blocks: readonly Block[] = [];
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "icicle");

  const paint = (): void => {
    const width = frame.clientWidth || 720;
    const all = blocksOf(anatomy, look.root, width, MOST_ROWS, look.weight);
    const rows = 1 + Math.max(0, ...all.map((block) => block.row));
    const height = rows * ROW_PX;
    blocks = all;
    canvas.setAttribute(
      "aria-label",
      `Parts of ${pathOf(anatomy, look.root)}, as wide as their size; arrow keys move, Enter opens. The table below has the numbers.`,
    );
    const context = fitted(canvas, width, height);
    if (context !== null) {
      const colours = coloursOf(frame);
      const { amount, found } = look;
      paintParts(context, { anatomy, blocks, colours, width, height, cursor, found, amount });
    }
  };
  const soon = coalesced(paint);
  const move = (part: number | undefined): void => {
    if (part !== undefined) {
      cursor = part;
      shared.say(partSentence(anatomy, part));
      soon.request();
    }
  };
  const show = (block: Block | null, x: number, y: number): void => {
    if (block === null) {
      tip.hide();
      return;
    }
    const { facts, note, title } = partFacts(anatomy, block);
    tip.show(title, facts, note, x, y);
  };
  const hit = (event: MouseEvent): Block | null =>
    blockAt(blocks, event.offsetX, Math.floor(event.offsetY / ROW_PX));

  canvas.addEventListener("pointermove", (event) => show(hit(event), event.offsetX, event.offsetY));
  canvas.addEventListener("pointerleave", () => tip.hide());
  canvas.addEventListener("click", (event) => {
    const block = hit(event);
    if (block !== null) {
      // Those that stand together are told apart inside what holds them.
      const part = block.together > 1 ? (anatomy.parent[block.part] as number) : block.part;
      tip.hide();
      zoom(part === look.root ? Math.max(0, anatomy.parent[part] as number) : part);
    }
  });
  canvas.addEventListener("keydown", (event) => {
    const action = actionOf(event);
    if (action === null) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    const here = Math.max(look.root, cursor);
    const above = anatomy.parent[here] as number;
    const beside = here === look.root ? [here] : anatomy.children(above);
    const at = beside.indexOf(here);
    const actions: Partial<Record<typeof action, () => void>> = {
      left: () => move(beside[at - 1]),
      right: () => move(beside[at + 1]),
      outer: () => move(here === look.root ? undefined : above),
      inner: () => move(anatomy.children(here)[0]),
      first: () => move(look.root),
      pin: () => zoom(here),
      fit: () => zoom(here),
      escape: () => zoom(Math.max(0, anatomy.parent[look.root] as number)),
      reset: () => zoom(0),
      search: shared.focusSearch,
      help: shared.toggleHelp,
    };
    actions[action]?.();
  });
  return {
    node: frame,
    paint,
    mark(part) {
      cursor = part;
      soon.request();
    },
    destroy: soon.cancel,
  };
}
