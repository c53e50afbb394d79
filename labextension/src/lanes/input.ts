/** Keys of the Lanes view. Only handled ones are kept from the notebook. */

import { type Action, actionOf } from "../kit/keys";
import { around, panned, type Range, within, zoomed } from "../kit/scale";
import { hit, inTime } from "./find";
import type { LaneView } from "./lanes";
import { timeAt, xOf } from "./scene";

const ZOOM_STEP = 0.7;
const PAN_STEP = 0.15;

export function listenToKeys(view: LaneView): void {
  view.canvas.addEventListener("keydown", (event) => {
    const action = actionOf(event);
    if (action !== null) {
      // Command mode of the notebook would take n, p, a, d and others for itself.
      event.stopPropagation();
      event.preventDefault();
      act(view, action);
    }
  });
}

function act(view: LaneView, action: Action): void {
  const { state } = view;
  const { range, limits, index } = state;
  const middle = (range.from + range.to) / 2;
  const cursor = state.cursor;
  switch (action) {
    case "zoom-in":
    case "zoom-out":
      view.show(zoomed(range, limits, middle, action === "zoom-in" ? ZOOM_STEP : 1 / ZOOM_STEP));
      return;
    case "left":
    case "right":
      view.show(panned(range, limits, action === "left" ? -PAN_STEP : PAN_STEP));
      return;
    case "fit":
      view.show(
        cursor === null
          ? limits
          : around(index.start[cursor] as number, index.end[cursor] as number, limits),
      );
      return;
    case "reset":
      view.show(limits);
      return;
    case "mark":
      view.mark(
        state.area !== null
          ? null
          : cursor === null
            ? range
            : { from: index.start[cursor] as number, to: index.end[cursor] as number },
      );
      return;
    case "pin":
      pin(view);
      return;
    case "escape":
      view.mark(null);
      view.select(null, false);
      return;
    case "search":
      view.stage.focusSearch();
      return;
    case "help":
      view.stage.toggleHelp();
      return;
    default:
      walk(view, action);
  }
}

function pin(view: LaneView): void {
  const { state } = view;
  view.select(state.cursor, !state.isPinned);
  showTip(view);
}

function showTip(view: LaneView): void {
  const { cursor, layout, index } = view.state;
  const strip = layout.rows
    .flatMap((row) => row.strips)
    .find(({ track }) => cursor !== null && cursor >= track.from && cursor < track.to);
  if (strip !== undefined && cursor !== null) {
    const camera = view.camera();
    const x = Math.max(camera.left, xOf(camera, index.start[cursor] as number));
    const y = strip.y - view.scroller.scrollTop + view.scroller.offsetTop + strip.height;
    view.hover(cursor, x, y);
  }
}

function walk(view: LaneView, action: Action): void {
  const next = target(view, action);
  if (next === null) {
    return;
  }
  const { state } = view;
  const { index, range, limits } = state;
  const [from, to] = [index.start[next] as number, index.end[next] as number];
  if (from < range.from || to > range.to) {
    // Keep the zoom: only move as far as needed to see where the span begins.
    const width = range.to - range.from;
    const at = from - width * 0.2;
    view.show(
      to - from > width
        ? around(from, to, limits)
        : panned(range, limits, (at - range.from) / width),
    );
  }
  view.select(next, state.isPinned);
  showTip(view);
}

function target(view: LaneView, action: Action): number | null {
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

function firstVisible({ state }: LaneView, walk: Int32Array): number {
  const at = walk.findIndex((position) => (state.index.end[position] as number) > state.range.from);
  return Math.max(0, at);
}

/** The span above or below on the screen, at the time where the cursor's span begins. */
function neighbour(view: LaneView, cursor: number, action: "outer" | "inner"): number | null {
  const { index, layout } = view.state;
  const strips = layout.rows.flatMap((row) => row.strips);
  const at = strips.findIndex(({ track }) => cursor >= track.from && cursor < track.to);
  const step = action === "outer" ? -1 : 1;
  const slack = (view.state.range.to - view.state.range.from) / 2;
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

/** Pointer and wheel of the Lanes view. The plain wheel belongs to the page. */

const CLICK_PX = 4;
/** A span may be missed by so much and is still meant, px. */
const SLACK_PX = 3;
const WHEEL_BASE = 1.0015;

export function listenToPointer(view: LaneView): void {
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
    view.show(
      at === null ? limits : around(index.start[at] as number, index.end[at] as number, limits),
    );
  });
}

function place(view: LaneView, event: MouseEvent): [number, number] {
  return [event.offsetX, event.offsetY + view.scroller.offsetTop];
}

function positionAt(view: LaneView, event: MouseEvent): number | null {
  const { index, layout } = view.state;
  const y = event.offsetY + view.scroller.scrollTop;
  const strip = layout.rows
    .flatMap((row) => row.strips)
    .find((each) => y >= each.y && y < each.y + each.height + 4);
  const camera = view.camera();
  if (strip === undefined || event.offsetX < camera.left) {
    return null;
  }
  const slack = (SLACK_PX * (camera.range.to - camera.range.from)) / camera.width;
  return hit(index, strip.track, timeAt(camera, event.offsetX), slack);
}

function zoomByWheel(view: LaneView, event: WheelEvent): void {
  if (!event.ctrlKey && !event.metaKey) {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  const at = timeAt(view.camera(), event.offsetX);
  view.show(zoomed(view.state.range, view.state.limits, at, WHEEL_BASE ** event.deltaY));
}

/** Drag pans; with shift it marks an area; without moving it is a click. */
function beginDrag(view: LaneView, down: PointerEvent): void {
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
      view.mark(ordered(t0, t1));
    } else {
      view.show(within({ from: range.from + t0 - t1, to: range.to + t0 - t1 }, state.limits));
    }
  };
  const up = (event: PointerEvent): void => {
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointercancel", up);
    if (!hasMoved && event.type === "pointerup") {
      const at = positionAt(view, event);
      view.select(at, at !== null && !(state.isPinned && at === state.cursor));
      view.hover(at, ...place(view, event));
    }
  };
  canvas.setPointerCapture(down.pointerId);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
}

function ordered(one: number, other: number): Range {
  return { from: Math.min(one, other), to: Math.max(one, other) };
}
