/** Keys of the Lanes view. Only handled ones are kept from the notebook. */

import { type Action, listenToDrag, listenToKeys } from "../kit/keys";
import { around, between, panned, within, zoomed } from "../kit/scale";
import { hit, inTime } from "./find";
import type { Lanes } from "./lanes";
import { stripOf, stripsOf } from "./layout";
import { timeAt, xOf } from "./scene";
import { extentOf } from "./tracks";

const ZOOM_STEP = 0.7;
const PAN_STEP = 0.15;

export function listen(view: Lanes): void {
  listenToKeys(view.canvas, (action) => act(view, action));
  listenToPointer(view);
}

function act(view: Lanes, action: Action): void {
  const { area, cursor, index, limits, range } = view.state;
  const middle = (range.from + range.to) / 2;
  const span = cursor === null ? null : extentOf(index, cursor);
  const zoom = (factor: number): void => view.show(zoomed(range, limits, middle, factor));
  const acts: Partial<Record<Action, () => void>> = {
    "zoom-in": () => zoom(ZOOM_STEP),
    "zoom-out": () => zoom(1 / ZOOM_STEP),
    left: () => view.show(panned(range, limits, -PAN_STEP)),
    right: () => view.show(panned(range, limits, PAN_STEP)),
    fit: () => view.show(span === null ? limits : around(span, limits)),
    reset: () => view.show(limits),
    mark: () => view.mark(area !== null ? null : (span ?? range)),
    pin: () => pin(view),
    escape: () => {
      view.mark(null);
      view.select(null, false);
    },
    search: view.stage.focusSearch,
    help: view.stage.toggleHelp,
  };
  (acts[action] ?? (() => walk(view, action)))();
}

function pin(view: Lanes): void {
  const { state } = view;
  view.select(state.cursor, !state.isPinned);
  showTip(view);
}

function showTip(view: Lanes): void {
  const { cursor, layout, index } = view.state;
  const strip = stripOf(layout.rows, cursor);
  if (strip !== undefined && cursor !== null) {
    const camera = view.camera();
    const x = Math.max(camera.left, xOf(camera, index.start[cursor] as number));
    const y = strip.y - view.scroller.scrollTop + view.scroller.offsetTop + strip.height;
    view.hover(cursor, x, y);
  }
}

function walk(view: Lanes, action: Action): void {
  const next = target(view, action);
  if (next === null) {
    return;
  }
  const { state } = view;
  const { index, range, limits } = state;
  const span = extentOf(index, next);
  const { from, to } = span;
  if (from < range.from || to > range.to) {
    // Keep the zoom: only move as far as needed to see where the span begins.
    const width = range.to - range.from;
    const at = from - width * 0.2;
    const moved = panned(range, limits, (at - range.from) / width);
    view.show(to - from > width ? around(span, limits) : moved);
  }
  view.select(next, state.isPinned);
  showTip(view);
}

function target(view: Lanes, action: Action): number | null {
  const { state } = view;
  const { index, cursor } = state;
  if (action === "outer" || action === "inner") {
    return cursor === null ? target(view, "first") : neighbour(view, cursor, action);
  }
  state.walk ??= inTime(index, state.found);
  const { walk } = state;
  const last = walk.length - 1;
  const at = cursor === null ? -1 : walk.indexOf(cursor);
  const wanted = {
    next: at < 0 ? firstVisible(view, walk) : Math.min(last, at + 1),
    previous: at < 0 ? last : Math.max(0, at - 1),
    first: 0,
    last,
  }[action as "next" | "previous" | "first" | "last"];
  return walk[wanted] ?? null;
}

function firstVisible({ state }: Lanes, walk: Int32Array): number {
  const at = walk.findIndex((position) => (state.index.end[position] as number) > state.range.from);
  return Math.max(0, at);
}

/** The span above or below on the screen, at the time where the cursor's span begins. */
function neighbour(view: Lanes, cursor: number, action: "outer" | "inner"): number | null {
  const { index, layout, range } = view.state;
  const strips = stripsOf(layout.rows);
  const at = strips.findIndex(({ track }) => cursor >= track.from && cursor < track.to);
  const step = action === "outer" ? -1 : 1;
  const slack = (range.to - range.from) / 2;
  for (let next = at + step; next >= 0 && next < strips.length; next += step) {
    const track = strips[next]?.track;
    const found =
      track === undefined ? null : hit(index, track, index.start[cursor] as number, slack);
    if (found !== null) {
      return found;
    }
  }
  return null;
}

// Pointer and wheel of the Lanes view. The plain wheel belongs to the page.
const CLICK_PX = 4;
/** A span may be missed by so much and is still meant, px. */
const SLACK_PX = 3;
const WHEEL_BASE = 1.0015;

function listenToPointer(view: Lanes): void {
  const { canvas } = view;
  canvas.addEventListener("wheel", (event) => zoomByWheel(view, event), { passive: false });
  canvas.addEventListener("pointerdown", (event) => beginDrag(view, event));
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) {
      view.hover(positionAt(view, event), ...place(view, event));
    }
  });
  canvas.addEventListener("pointerleave", (event) => view.hover(null, ...place(view, event)));
  canvas.addEventListener("dblclick", (event) => {
    const at = positionAt(view, event);
    const { index, limits } = view.state;
    view.show(at === null ? limits : around(extentOf(index, at), limits));
  });
}

function place(view: Lanes, event: MouseEvent): [number, number] {
  return [event.offsetX, event.offsetY + view.scroller.offsetTop];
}

function positionAt(view: Lanes, event: MouseEvent): number | null {
  const { index, layout } = view.state;
  const y = event.offsetY + view.scroller.scrollTop;
  const strip = stripsOf(layout.rows).find((each) => y >= each.y && y < each.y + each.height + 4);
  const camera = view.camera();
  if (strip === undefined || event.offsetX < camera.left) {
    return null;
  }
  const slack = (SLACK_PX * (camera.range.to - camera.range.from)) / camera.width;
  return hit(index, strip.track, timeAt(camera, event.offsetX), slack);
}

function zoomByWheel(view: Lanes, event: WheelEvent): void {
  if (!event.ctrlKey && !event.metaKey) {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  const at = timeAt(view.camera(), event.offsetX);
  view.show(zoomed(view.state.range, view.state.limits, at, WHEEL_BASE ** event.deltaY));
}

/** Drag pans; with shift it marks an area; without moving it is a click. */
function beginDrag(view: Lanes, down: PointerEvent): void {
  if (down.button !== 0) {
    return;
  }
  const { canvas, state } = view;
  const camera = view.camera();
  const range = state.range;
  let hasMoved = false;
  const move = (event: PointerEvent): void => {
    hasMoved ||= Math.abs(event.offsetX - down.offsetX) > CLICK_PX;
    if (!hasMoved) {
      return;
    }
    const [t0, t1] = [timeAt(camera, down.offsetX), timeAt(camera, event.offsetX)];
    if (down.shiftKey) {
      view.mark(between(t0, t1));
    } else {
      view.show(within({ from: range.from + t0 - t1, to: range.to + t0 - t1 }, state.limits));
    }
  };
  const up = (event: PointerEvent): void => {
    if (!hasMoved && event.type === "pointerup") {
      const at = positionAt(view, event);
      view.select(at, at !== null && !(state.isPinned && at === state.cursor));
      view.hover(at, ...place(view, event));
    }
  };
  listenToDrag(canvas, down, move, up);
}
