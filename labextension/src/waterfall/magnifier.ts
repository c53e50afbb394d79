/** A bar that is too small to be seen is shown large while its row has the pointer or the focus. */

import type { DrawnTrace, Stage } from "../document/document";
import * as format from "../document/format";
import { element } from "../kit/dom";
import { bar } from "../kit/marks";
import type { Range } from "../kit/scale";
import { familyOf } from "../kit/theme";
import type { Piece } from "./critical";
import type { Plot } from "./plot";

/** Narrower bars are magnified, px. */
const SMALL_PX = 6;
const WIDTH_PX = 170;
/** Room on both sides of what is magnified (share of it). */
const ROOM = 0.2;

export function magnified(
  trace: DrawnTrace,
  row: HTMLTableRowElement,
  plot: Plot,
  stage: Stage,
): void {
  let glass: HTMLElement | null = null;
  const hide = (): void => {
    glass?.remove();
    glass = null;
  };
  const show = (): void => {
    const width = plot.node.clientWidth;
    const range = magnifiedRange(plot.pieces, trace.wall_ns / (width || 1));
    if (glass !== null || range === null || width < WIDTH_PX * 1.5) {
      return;
    }
    glass = glassOf(trace, plot, stage, range, width);
    plot.node.append(glass);
  };
  for (const [begin, end] of [
    ["mouseenter", "mouseleave"],
    ["focusin", "focusout"],
  ] as const) {
    row.addEventListener(begin, show);
    row.addEventListener(end, hide);
  }
}

/** All pieces when they lie in a few pixels, else the longest one if it is small; null: all is seen. */
export function magnifiedRange(pieces: readonly Piece[], nsPerPixel: number): Range | null {
  const longest = pieces.toSorted((a, b) => b[1] - a[1])[0];
  const [first, last] = [pieces[0], pieces.at(-1)];
  if (first === undefined || last === undefined || longest === undefined) {
    return null;
  }
  const whole = { from: first[0], to: last[0] + last[1] };
  const one = { from: longest[0], to: longest[0] + longest[1] };
  const small = [whole, one].find(({ from, to }) => to - from < SMALL_PX * nsPerPixel);
  if (small === undefined || !(small.to > small.from)) {
    return null;
  }
  const room = (small.to - small.from) * ROOM;
  return { from: small.from - room, to: small.to + room };
}

function glassOf(
  trace: DrawnTrace,
  plot: Plot,
  stage: Stage,
  range: Range,
  width: number,
): HTMLElement {
  const length = range.to - range.from;
  const kind = stage.waits === true ? "jsp-waits" : `jsp-${familyOf(stage.family)}`;
  const seen = plot.pieces.filter(([at, long]) => at + long > range.from && at < range.to);
  const bars = seen.map(([at, long]) => bar(kind, (at - range.from) / length, long / length, ""));
  const total = seen.reduce((sum, [, long]) => sum + long, 0);
  const times = (trace.wall_ns / width) * (WIDTH_PX / length);
  const text = `${format.duration(total)}, magnified ${format.ratio(times)}`;
  const glass = element("div", "jsp-glass", element("div", "jsp-glass-bars", ...bars), text);
  glass.setAttribute("aria-hidden", "true");
  // Beside the bar, on the side with more room, so that it does not cover what it explains.
  const share = range.from / (trace.wall_ns || 1);
  glass.classList.toggle("jsp-glass-left", share > 0.5);
  glass.style[share > 0.5 ? "right" : "left"] =
    `${((share > 0.5 ? 1 - share : share) * 100).toFixed(2)}%`;
  return glass;
}
