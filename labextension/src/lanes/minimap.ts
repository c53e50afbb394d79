/** The whole run above the lanes: a brush moves and resizes what is visible below. */

import { fitted } from "../kit/canvas";
import { element, having } from "../kit/dom";
import { listenToDrag } from "../kit/keys";
import { between, type Range, within } from "../kit/scale";
import type { Colours } from "../kit/theme";
import { addTrack, type Camera, fillBatch, newBatch } from "./paint";
import { paintAxis, timeAt, xOf } from "./scene";
import type { Index } from "./tracks";

const MAP_HEIGHT = 52;
const AXIS_HEIGHT = 26;
const HANDLE_PX = 7;
/** More lanes than rows of pixels: the first ones stand for all. */
const MOST_LINES = 12;

export interface Minimap {
  readonly node: HTMLElement;
  paint(index: Index, camera: Camera, colours: Colours): void;
}

export function minimap(limits: Range, changed: (range: Range) => void): Minimap {
  const canvas = having(element("canvas", "jsp-map"), { "aria-hidden": "true" });
  let whole: Camera | null = null;
  let range: Range = { from: 0, to: 1 };
  const picture = element("canvas", "");
  let pictured = "";
  canvas.addEventListener("pointerdown", (down) => {
    if (whole !== null && down.button === 0) {
      dragBrush(canvas, down, whole, range, (next) => changed(within(next, limits)));
    }
  });
  return {
    node: canvas,
    paint(index, camera, colours) {
      whole = { ...camera, range: limits };
      range = camera.range;
      const width = camera.left + camera.width;
      const context = fitted(canvas, width, MAP_HEIGHT + AXIS_HEIGHT);
      if (context === null) {
        return;
      }
      context.fillStyle = colours.background;
      context.fillRect(0, 0, width, MAP_HEIGHT + AXIS_HEIGHT);
      // The run stays as it is while the brush moves, so it is painted once for a size and theme.
      const wanted = JSON.stringify([width, canvas.width, colours]);
      if (wanted !== pictured) {
        pictured = wanted;
        const inner = fitted(picture, width, MAP_HEIGHT);
        if (inner !== null) {
          inner.clearRect(0, 0, width, MAP_HEIGHT);
          paintTracks(inner, index, whole, colours);
        }
      }
      context.drawImage(picture, 0, 0, width, MAP_HEIGHT);
      paintBrush(context, whole, range, colours);
      paintAxis(context, camera, colours, MAP_HEIGHT + AXIS_HEIGHT - 8);
      context.font = `11px ${colours.font}`;
      context.fillStyle = colours.quiet;
      context.fillText("whole run", 0, 14);
      context.fillRect(0, MAP_HEIGHT + AXIS_HEIGHT - 1, width, 1);
    },
  };
}

function paintTracks(
  context: CanvasRenderingContext2D,
  index: Index,
  camera: Camera,
  colours: Colours,
): void {
  const outer = index.tracks.filter(({ depth }) => depth === 0).slice(0, MOST_LINES);
  const step = Math.min(12, (MAP_HEIGHT - 8) / Math.max(1, outer.length));
  const batch = newBatch(() => new Path2D());
  outer.forEach((track, line) => {
    const strip = { track, y: Math.round(5 + line * step), height: Math.max(1, step - 2) };
    addTrack(batch, strip, { index, camera, found: null });
  });
  fillBatch(context, batch, colours);
}

function paintBrush(
  context: CanvasRenderingContext2D,
  whole: Camera,
  range: Range,
  colours: Colours,
): void {
  const [from, to] = [xOf(whole, range.from), xOf(whole, range.to)];
  context.globalAlpha = 0.65;
  context.fillStyle = colours.background;
  context.fillRect(whole.left, 0, from - whole.left, MAP_HEIGHT);
  context.fillRect(to, 0, whole.left + whole.width - to, MAP_HEIGHT);
  context.globalAlpha = 1;
  context.strokeStyle = colours.quiet;
  context.lineWidth = 1;
  context.strokeRect(from + 0.5, 1.5, Math.max(2, to - from - 1), MAP_HEIGHT - 3);
  context.fillStyle = colours.quiet;
  for (const x of [from, to - 3]) {
    context.fillRect(x, MAP_HEIGHT / 2 - 8, 3, 16);
  }
}

/** Drag an edge to resize, the inside to move, anywhere else or the axis to choose anew. */
function dragBrush(
  canvas: HTMLCanvasElement,
  down: PointerEvent,
  whole: Camera,
  range: Range,
  changed: (range: Range) => void,
): void {
  const isAxis = down.offsetY > MAP_HEIGHT;
  // The axis shows the visible part, the map above it the whole run.
  const drag = dragOf(isAxis ? { ...whole, range } : whole, range, down.offsetX, isAxis);
  const move = (event: PointerEvent): void => {
    const next = drag(event.offsetX);
    if (next !== null) {
      changed(next);
    }
  };
  // A stretch of the axis is taken when the drag ends: moving it meanwhile moves the axis.
  listenToDrag(canvas, down, isAxis ? () => undefined : move, move);
}

const CLICK_PX = 3;

function dragOf(
  camera: Camera,
  range: Range,
  x0: number,
  isAxis: boolean,
): (x: number) => Range | null {
  const [from, to] = [xOf(camera, range.from), xOf(camera, range.to)];
  const time = (x: number): number => timeAt(camera, x);
  if (!isAxis && Math.abs(x0 - from) <= HANDLE_PX) {
    return (x) => ({ from: Math.min(time(x), range.to), to: range.to });
  }
  if (!isAxis && Math.abs(x0 - to) <= HANDLE_PX) {
    return (x) => ({ from: range.from, to: Math.max(time(x), range.from) });
  }
  const isWhole = to - from >= camera.width - 1;
  if (!isAxis && !isWhole && x0 > from && x0 < to) {
    return (x) => {
      const by = time(x) - time(x0);
      return { from: range.from + by, to: range.to + by };
    };
  }
  return (x) => (Math.abs(x - x0) <= CLICK_PX ? null : between(time(x), time(x0)));
}
