/** Pointer and wheel of the Lanes view. The plain wheel belongs to the page. */

import { around, type Range, within, zoomed } from "../kit/scale";
import { hit } from "./find";
import type { LaneView } from "./lanes";
import { timeAt } from "./scene";

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
