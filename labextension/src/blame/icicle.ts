/** The icicle of an anatomy: a canvas with a cursor that keys and pointer move. */

import type { Part, Stage } from "../frame/part";
import { coalesced, fitted } from "../kit/canvas";
import { element, having } from "../kit/dom";
import { type Action, listenToKeys } from "../kit/keys";
import { coloursOf } from "../kit/theme";
import { tooltipIn } from "../lanes/facts";
import { pathOf } from "./anatomy";
import { type Block, blockAt, blocksOf, type Look, paintParts, ROW_PX } from "./layout";
import { partFacts, partSentence } from "./tree";

/** Deeper parts are one click away. */
const MOST_ROWS = 12;

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
  having(canvas, { tabindex: 0, role: "application", "aria-roledescription": "icicle" });

  const paint = (): void => {
    const width = frame.clientWidth || 720;
    const all = blocksOf(anatomy, look.root, width, MOST_ROWS, look.weight);
    const rows = 1 + Math.max(0, ...all.map((block) => block.row));
    const height = rows * ROW_PX;
    blocks = all;
    const label = `Parts of ${pathOf(anatomy, look.root)}, as wide as their size; arrow keys move, Enter opens. The table below has the numbers.`;
    canvas.setAttribute("aria-label", label);
    const context = fitted(canvas, width, height);
    if (context !== null) {
      paintParts({ ...look, context, blocks, colours: coloursOf(frame), width, height, cursor });
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
    } else {
      tip.show(...partFacts(anatomy, block), x, y);
    }
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
  listenToKeys(canvas, (action) => {
    const here = Math.max(look.root, cursor);
    const above = anatomy.parent[here] as number;
    const beside = here === look.root ? [here] : anatomy.children(above);
    const at = beside.indexOf(here);
    const actions: Partial<Record<Action, () => void>> = {
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
