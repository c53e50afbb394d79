/** Paint the Lanes view: what is visible of it, and nothing else. */

import { columnScale, duration, fixed } from "../document/format";
import type { TraceDocument } from "../document/schema";
import { type Measure, measureWith, shortened } from "../kit/canvas";
import { type Range, ticksBetween } from "../kit/scale";
import type { Colours } from "../kit/theme";
import type { Step } from "../waterfall/critical";
import {
  BAR_HEIGHT,
  type LaneLayout,
  type LaneRow,
  stripOf,
  stripsOf,
  visibleRows,
} from "./layout";
import { addTrack, type Camera, fillBatch, newBatch } from "./paint";
import { paintLabels } from "./spanlabels";
import type { Index } from "./tracks";

/** The spans of a trace and where they stand. */
export interface Placed {
  readonly trace: TraceDocument;
  readonly index: Index;
  readonly layout: LaneLayout;
}

/** What is shown of it. */
export interface Shown extends Placed {
  /** Spans at positions where this is 0 are faint; null: all are bright. */
  found: Uint8Array | null;
  /** The others step back. */
  isPinned: boolean;
  /** Position; null when there is none. */
  cursor: number | null;
  /** To what the cursor's span caused on other lanes, and from what caused it. */
  arrows: readonly Arrow[];
  area: Range | null;
}

export interface Scene extends Shown {
  readonly path: readonly Step[];
  readonly colours: Colours;
  readonly camera: Camera;
  /** The part of the layout that is scrolled into sight. */
  readonly top: number;
  readonly height: number;
}

/** A scene on its canvas, and the rows in sight. */
export interface Canvas extends Scene {
  readonly context: CanvasRenderingContext2D;
  readonly rows: readonly LaneRow[];
}

/** Whiskers and hand-overs are drawn while there are few enough to be told apart. */
const MOST_HANDOVERS = 60;
const AXIS_TICK_PX = 110;

export function xOf(camera: Camera, time: number): number {
  const { range, left, width } = camera;
  return left + ((time - range.from) / (range.to - range.from)) * width;
}

export function timeAt(camera: Camera, x: number): number {
  const { range, left, width } = camera;
  return range.from + ((x - left) / width) * (range.to - range.from);
}

export function paintLanes(context: CanvasRenderingContext2D, scene: Scene): void {
  const { camera, colours, height, layout, top } = scene;
  const rows = visibleRows(layout, top, height);
  const canvas: Canvas = { ...scene, context, rows };
  context.fillStyle = colours.background;
  context.fillRect(0, 0, camera.left + camera.width, height);
  context.save();
  context.translate(0, -top);
  paintGrid(canvas);
  const batch = newBatch(() => new Path2D());
  for (const strip of stripsOf(rows)) {
    addTrack(batch, strip, scene);
  }
  fillBatch(context, batch, colours, scene.isPinned);
  paintPath(canvas);
  paintCursor(canvas);
  paintLabels(canvas);
  paintArrows(canvas);
  for (const row of rows) {
    paintWhiskers(canvas, row);
  }
  paintArea(canvas);
  paintGutter(canvas);
  context.restore();
}

export function axisTicks(camera: Camera): { x: number; time: number }[] {
  const most = Math.max(2, Math.floor(camera.width / AXIS_TICK_PX));
  return ticksBetween(camera.range.from, camera.range.to, most).map((time) => ({
    x: Math.round(xOf(camera, time)) + 0.5,
    time,
  }));
}

function paintGrid({ camera, colours, context, height, rows, top }: Canvas): void {
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const { x } of axisTicks(camera)) {
    context.moveTo(x, top);
    context.lineTo(x, top + height);
  }
  for (const row of rows) {
    context.moveTo(0, row.y + row.height - 0.5);
    context.lineTo(camera.left + camera.width, row.y + row.height - 0.5);
  }
  context.stroke();
}

/** A line under the bars that own the wall time, dotted where another lane takes over. */
function paintPath({ camera, colours, context, index, path, rows }: Canvas): void {
  const bottoms = new Map(
    stripsOf(rows).map(({ height, track, y }) => [index.tracks.indexOf(track), y + height + 1]),
  );
  const { range, left, width } = camera;
  const seen = path.filter((step) => step.to_ns > range.from && step.from_ns < range.to);
  context.fillStyle = colours.ink;
  for (const step of seen) {
    const y = bottoms.get(step.track);
    const from = Math.max(left, xOf(camera, step.from_ns));
    const to = Math.min(left + width, xOf(camera, step.to_ns));
    if (y !== undefined) {
      context.fillRect(from, y, Math.max(1, to - from), 1.5);
    }
  }
  if (seen.length > MOST_HANDOVERS) {
    return;
  }
  context.strokeStyle = colours.quiet;
  context.setLineDash([2, 2]);
  context.beginPath();
  seen.forEach((step, at) => {
    const before = seen[at - 1];
    const [y0, y1] = [bottoms.get(before?.track ?? -1), bottoms.get(step.track)];
    const x = xOf(camera, step.from_ns);
    if (y0 !== undefined && y1 !== undefined && y0 !== y1 && x > left) {
      context.moveTo(x, y0);
      context.lineTo(x, y1);
    }
  });
  context.stroke();
  context.setLineDash([]);
}

/** How far a remote clock may be off, at the first visible bar of the lane; from 1 px each side on. */
function paintWhiskers({ camera, colours, context, index }: Canvas, row: LaneRow): void {
  const half = (row.error_ns / (camera.range.to - camera.range.from)) * camera.width;
  const strip = row.strips[0];
  if (half < 1 || strip === undefined) {
    return;
  }
  for (let at = strip.track.from; at < strip.track.to; at += 1) {
    const x = xOf(camera, index.start[at] as number);
    if (x > camera.left + camera.width) {
      return;
    }
    if (x >= camera.left) {
      const y = strip.y + strip.height / 2;
      context.strokeStyle = colours.ink;
      context.lineWidth = 1.25;
      context.beginPath();
      context.moveTo(x - half, y);
      context.lineTo(x + half, y);
      for (const end of [x - half, x + half]) {
        context.moveTo(end, y - 4);
        context.lineTo(end, y + 4);
      }
      context.stroke();
      return;
    }
  }
}

function paintCursor({ camera, colours, context, cursor, index, isPinned, rows }: Canvas): void {
  const strip = stripOf(rows, cursor);
  if (strip === undefined || cursor === null) {
    return;
  }
  const from = Math.max(camera.left, xOf(camera, index.start[cursor] as number));
  const to = Math.min(camera.left + camera.width, xOf(camera, index.end[cursor] as number));
  if (to < camera.left || from > camera.left + camera.width) {
    return;
  }
  if (isPinned) {
    context.fillStyle = colours.kinds[index.kind[cursor] as number] as string;
    context.fillRect(from, strip.y, Math.max(1, to - from), strip.height);
  }
  context.strokeStyle = colours.ink;
  context.lineWidth = 2;
  context.strokeRect(from - 1, strip.y - 1, Math.max(3, to - from + 1), strip.height + 2);
}

const ARROW_HEAD = 4;

/** From cause to effect: down or up from one bar, then to the beginning of the other. */
function paintArrows({ arrows, camera, colours, context }: Canvas): void {
  context.strokeStyle = colours.ink;
  context.lineWidth = 1.25;
  context.beginPath();
  for (const { from_ns, to_ns, y0, y1 } of arrows) {
    const [x0, x1] = [xOf(camera, from_ns), xOf(camera, to_ns)];
    const middle = (y0 + y1) / 2;
    const head = y1 > y0 ? -ARROW_HEAD : ARROW_HEAD;
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0, middle, x1, middle, x1, y1);
    context.moveTo(x1 - ARROW_HEAD, y1 + head);
    context.lineTo(x1, y1);
    context.lineTo(x1 + ARROW_HEAD, y1 + head);
  }
  context.stroke();
}

function paintArea({ area, camera, colours, context, height, top }: Canvas): void {
  if (area === null) {
    return;
  }
  const from = Math.max(camera.left, xOf(camera, area.from));
  const to = Math.min(camera.left + camera.width, xOf(camera, area.to));
  context.fillStyle = colours.accent;
  context.globalAlpha = 0.12;
  context.fillRect(from, top, to - from, height);
  context.globalAlpha = 1;
  context.fillRect(from, top, 1, height);
  context.fillRect(to - 1, top, 1, height);
}

/** Names of the lanes, over whatever was painted below them. */
function paintGutter({ camera, colours, context, height, rows, top }: Canvas): void {
  context.fillStyle = colours.background;
  context.fillRect(0, top, camera.left, height);
  context.textBaseline = "middle";
  const measure: Measure = measureWith(context);
  rows.forEach((row, at) => {
    context.fillStyle = colours.line;
    context.fillRect(0, row.y + row.height - 1, camera.left, 1);
    const room = camera.left - 10;
    const isFirst = row.isFirst || at === 0;
    // The process is told before the thread where there is no room for both.
    context.font = `600 12px ${colours.font}`;
    context.fillStyle = colours.ink;
    const title = isFirst ? shortened(row.title, room, measure) : "";
    context.fillText(title, 0, row.y + 16);
    const left = room - (title === "" ? 0 : measure(title) + 6);
    context.font = `11px ${colours.font}`;
    context.fillStyle = colours.quiet;
    const part = shortened(row.part, left, measure);
    context.fillText(part, room - measure(part), row.y + 16);
    if (row.error_ns > 0 && row.isFirst) {
      context.fillText(shortened(`±${duration(row.error_ns)}`, room, measure), 0, row.y + 31);
    }
  });
}

/** Times above the lanes: one unit for all, named at the last one. */
export function paintAxis(
  context: CanvasRenderingContext2D,
  camera: Camera,
  colours: Colours,
  baseline: number,
): void {
  const reach = Math.max(Math.abs(camera.range.from), Math.abs(camera.range.to));
  const { unit, unitNs } = columnScale(reach);
  const found = axisTicks(camera);
  const step = ((found[1]?.time ?? 0) - (found[0]?.time ?? 0)) / unitNs;
  const decimals = step > 0 ? Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)) : 0;
  const measure = measureWith(context);
  context.font = `11px ${colours.font}`;
  context.fillStyle = colours.quiet;
  context.textBaseline = "alphabetic";
  found.forEach(({ x, time }, at) => {
    const number = fixed(time / unitNs, decimals);
    const text = at === found.length - 1 ? `${number}\u00a0${unit}` : number;
    const half = measure(text) / 2;
    const right = camera.left + camera.width;
    context.fillText(text, Math.min(Math.max(x - half, camera.left), right - 2 * half), baseline);
  });
}

/** Causes across lanes: what the document says started what, for one span. */
export interface Arrow {
  readonly from_ns: number;
  readonly to_ns: number;
  /** Edges of the bars that face each other, px from the top of the layout. */
  readonly y0: number;
  readonly y1: number;
}

/** More would be a texture. */
const MOST_ARROWS = 50;

/** From its parent on another lane to a span, and from it to the spans that it caused elsewhere. */
export function arrowsOf(placed: Placed, cursor: number): Arrow[] {
  const { index } = placed;
  const { parent, lane } = index.columns;
  const own = index.span[cursor] as number;
  const cause = parent[own] as number;
  const pairs: [number, number][] = [];
  for (let at = 0; at < index.span.length && pairs.length < MOST_ARROWS; at += 1) {
    const span = index.span[at] as number;
    const isElsewhere = lane[span] !== lane[own];
    if (isElsewhere && span === cause) {
      pairs.push([at, cursor]);
    } else if (isElsewhere && parent[span] === own) {
      pairs.push([cursor, at]);
    }
  }
  return pairs.flatMap(([from, to]) => arrowOf(placed, from, to));
}

/** None is drawn that is shorter than the clocks are uncertain: cause and effect could be swapped. */
function arrowOf(placed: Placed, from: number, to: number): Arrow[] {
  const { index, layout } = placed;
  const began = index.start[to] as number;
  const ended = index.end[from] as number;
  const isInside = ended > began;
  const since = began - (isInside ? (index.start[from] as number) : ended);
  const [y0, y1] = [from, to].map((at) => stripOf(layout.rows, at)?.y ?? 0) as [number, number];
  const [down, up] = y0 < y1 ? [BAR_HEIGHT, 0] : [0, BAR_HEIGHT];
  const from_ns = isInside ? began : ended;
  return since < errorOf(placed, from) + errorOf(placed, to) || y0 === y1
    ? []
    : [{ from_ns, to_ns: began, y0: y0 + down, y1: y1 + up }];
}

function errorOf({ index, trace }: Placed, at: number): number {
  const lane = index.columns.lane[index.span[at] as number] as number;
  return trace.lanes[lane]?.clock_error_ns ?? 0;
}
