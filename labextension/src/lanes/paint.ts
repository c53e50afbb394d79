/**
 * Bars of one track into batched paths: wide spans one by one, those below a pixel merged into
 * columns that are as high as the part of that instant at work. One path for each colour keeps the
 * number of canvas calls independent of the number of spans.
 */

import type { Range } from "../kit/scale";
import { firstAbove } from "../kit/sort";
import type { Colours } from "../kit/theme";
import { type Level, levelFor } from "./pyramid";
import { type Index, KIND_COUNT, type Track, WAIT } from "./tracks";

/** The part of Path2D that is used; tests bring their own. */
export interface PathLike {
  rect(x: number, y: number, width: number, height: number): void;
}

export interface Batch<Path extends PathLike = PathLike> {
  readonly solid: readonly Path[];
  /** The extent behind columns, and spans that are not searched for. */
  readonly tint: readonly Path[];
}

/** What is visible: a range of time over some pixels. */
export interface Camera {
  readonly range: Range;
  readonly left: number;
  readonly width: number;
}

export interface Strip {
  readonly track: Track;
  readonly y: number;
  readonly height: number;
}

/** Spans, and which part of them is looked at. */
export interface Sight {
  readonly index: Index;
  readonly camera: Camera;
  /** Spans at positions where this is 0 are faint; null: all are bright. */
  readonly found: Uint8Array | null;
}

const TINT = 0.2;
const DIM = 0.35;
/** Narrower spans are merged with their neighbours, px. */
const MERGED_BELOW = 1.5;
const WAIT_THICKNESS = 2;
/** A lone span below a pixel is drawn whole when it has this much room, px. */
const LONE_ROOM = 2;

export function newBatch<Path extends PathLike>(makePath: () => Path): Batch<Path> {
  const paths = (): Path[] => Array.from({ length: KIND_COUNT }, makePath);
  return { solid: paths(), tint: paths() };
}

export function fillBatch(
  context: CanvasRenderingContext2D,
  batch: Batch<Path2D>,
  colours: Colours,
  isDim = false,
): void {
  for (let kind = 0; kind < KIND_COUNT; kind += 1) {
    context.fillStyle = colours.kinds[kind] as string;
    context.globalAlpha = TINT;
    context.fill(batch.tint[kind] as Path2D);
    context.globalAlpha = isDim ? DIM : 1;
    context.fill(batch.solid[kind] as Path2D);
  }
  context.globalAlpha = 1;
}

export function addTrack(batch: Batch, strip: Strip, sight: Sight): void {
  const { range, width } = sight.camera;
  const nsPerPixel = (range.to - range.from) / width;
  const level = sight.found === null ? levelFor(strip.track.pyramid, nsPerPixel) : null;
  if (level === null) {
    addSpans(batch, strip, sight);
  } else {
    addBuckets(batch, strip, sight, level);
  }
}

function addSpans(batch: Batch, strip: Strip, { camera, found, index }: Sight): void {
  const { range, left, width } = camera;
  const scale = width / (range.to - range.from);
  const right = left + width;
  const { start, end, kind } = index;
  const columns = newColumns(batch, strip);
  const { to } = strip.track;
  for (let at = firstAbove(index.reach, range.from, strip.track.from, to); at < to; at += 1) {
    const x0 = left + ((start[at] as number) - range.from) * scale;
    if (x0 >= right) {
      columns.flush(x0);
      return;
    }
    const x1 = left + ((end[at] as number) - range.from) * scale;
    const from = x0 > left ? x0 : left;
    const till = x1 < right ? x1 : right;
    const isBright = found === null || found[at] === 1;
    if (till - from >= MERGED_BELOW) {
      columns.flush(from);
      addBar(batch, strip, kind[at] as number, from, till, isBright);
    } else if (till >= left) {
      columns.add(from, till - from, kind[at] as number, isBright);
    }
  }
  columns.flush(Number.POSITIVE_INFINITY);
}

function addBar(
  batch: Batch,
  strip: Strip,
  kind: number,
  from: number,
  to: number,
  isBright: boolean,
): void {
  const path = (isBright ? batch.solid : batch.tint)[kind] as PathLike;
  // One pixel of background tells neighbours apart.
  const width = to - from > 3 ? to - from - 1 : to - from;
  if (kind === WAIT) {
    path.rect(from, middle(strip), width, WAIT_THICKNESS);
  } else {
    path.rect(from, strip.y, width, strip.height);
  }
}

function middle(strip: Strip): number {
  return Math.round(strip.y + (strip.height - WAIT_THICKNESS) / 2);
}

/** Collects what falls into one pixel column and draws it when the next one begins. */
function newColumns(batch: Batch, strip: Strip) {
  const busy = new Float64Array(KIND_COUNT);
  let pixel = -1;
  let count = 0;
  let isBright = false;
  let last = Number.NEGATIVE_INFINITY;
  const flush = (next: number): void => {
    if (count === 0) {
      return;
    }
    const isLone = count === 1 && pixel - last > LONE_ROOM && next - pixel > LONE_ROOM;
    addColumn(batch, strip, pixel, 1, busy, isLone ? Number.POSITIVE_INFINITY : 1, isBright);
    busy.fill(0);
    last = pixel;
    count = 0;
    isBright = false;
  };
  const add = (x: number, width: number, kind: number, bright: boolean): void => {
    const at = Math.floor(x);
    if (at !== pixel) {
      flush(at);
      pixel = at;
    }
    busy[kind] = (busy[kind] as number) + Math.max(width, 1e-3);
    count += 1;
    isBright ||= bright;
  };
  return { add, flush };
}

/** Kinds stacked from the bottom, each as high as its share; what is there is never below 1 px. */
function addColumn(
  batch: Batch,
  strip: Strip,
  x: number,
  width: number,
  busy: ArrayLike<number>,
  scale: number,
  isBright: boolean,
): void {
  const paths = isBright ? batch.solid : batch.tint;
  let bottom = strip.y + strip.height;
  let largest = -1;
  for (let kind = 0; kind < WAIT; kind += 1) {
    const share = busy[kind] as number;
    if (share > 0) {
      const height = Math.min(
        bottom - strip.y,
        Math.max(1, Math.round(Math.min(1, share * scale) * strip.height)),
      );
      (paths[kind] as PathLike).rect(x, bottom - height, width, height);
      bottom -= height;
      largest = largest < 0 || share > (busy[largest] as number) ? kind : largest;
    }
  }
  if (largest >= 0 && bottom > strip.y && isBright) {
    (batch.tint[largest] as PathLike).rect(x, strip.y, width, bottom - strip.y);
  } else if (largest < 0 && (busy[WAIT] as number) > 0) {
    (paths[WAIT] as PathLike).rect(x, middle(strip), width, WAIT_THICKNESS);
  }
}

function addBuckets(batch: Batch, strip: Strip, { camera, index }: Sight, level: Level): void {
  const { range, left, width } = camera;
  const scale = width / (range.to - range.from);
  const first = Math.max(0, Math.floor((range.from - index.first_ns) / level.bucket_ns));
  const last = Math.min(level.count, Math.ceil((range.to - index.first_ns) / level.bucket_ns));
  const edge = (bucket: number): number =>
    Math.round(left + (index.first_ns + bucket * level.bucket_ns - range.from) * scale);
  for (let bucket = first; bucket < last; bucket += 1) {
    const x0 = Math.max(left, edge(bucket));
    const x1 = Math.min(left + width, edge(bucket + 1));
    const cells = level.busy.subarray(bucket * KIND_COUNT, (bucket + 1) * KIND_COUNT);
    addColumn(batch, strip, x0, Math.max(1, x1 - x0), cells, 1 / level.bucket_ns, true);
  }
}
