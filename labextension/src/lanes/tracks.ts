/**
 * Spans arranged for drawing: a lane has one track for each level of nesting, and within a track
 * spans stand in the order of time, so that the visible ones are found by binary search.
 */

import type { Columns } from "../document/decode";
import type { TraceDocument } from "../document/schema";
import type { Range } from "../kit/scale";
import { ascending } from "../kit/sort";
import { FAMILIES, familyOf } from "../kit/theme";
import type { Pyramid } from "./pyramid";

/** Kind of a span: the index of its family, or this for a wait. */
export const WAIT = FAMILIES.length;
export const KIND_COUNT = WAIT + 1;

/** Deeper spans share the last track and may cover each other there. */
const MOST_DEPTH = 16;

export interface Track {
  readonly lane: number;
  readonly depth: number;
  /** Its spans are the positions from..to of the sorted arrays. */
  readonly from: number;
  readonly to: number;
  /** Of a long track, once it is built. */
  readonly pyramid: Pyramid | null;
}

export interface Index {
  readonly columns: Columns;
  /** Sorted by track, then by start: */
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** The largest end so far within the track: ascends even where spans overlap. */
  readonly reach: Float64Array;
  readonly kind: Uint8Array;
  /** Index of the span in the document. */
  readonly span: Int32Array;
  readonly tracks: readonly Track[];
  readonly first_ns: number;
  readonly last_ns: number;
}

export function indexSpans(trace: TraceDocument, columns: Columns): Index {
  const time = finite(columns.start);
  const order = longestFirst(ascending(time), time, columns.duration);
  const depth = depths(order, time, columns, trace.lanes?.length ?? 0);
  const kinds = kindsOf(trace);
  const tracks = tracksOf(columns.lane, depth);
  const count = tracks.at(-1)?.to ?? 0;
  const times = (): Float64Array => new Float64Array(count);
  const [start, end, reach] = [times(), times(), times()];
  const [kind, span] = [new Uint8Array(count), new Int32Array(count)];
  const places = new Map(tracks.map((track) => [trackKey(track.lane, track.depth), track.from]));
  const keys = { length: (trace.lanes?.length ?? 0) * MOST_DEPTH };
  const firstOf = Int32Array.from(keys, (_, key) => places.get(key) ?? -1);
  const next = firstOf.slice();
  let [first, last] = [0, Math.max(0, trace.wall_ns)];
  for (let each = 0; each < order.length; each += 1) {
    const index = order[each] as number;
    const lane = columns.lane[index] as number;
    if (lane < 0) {
      continue;
    }
    const key = trackKey(lane, depth[index] as number);
    const at = next[key] as number;
    next[key] = at + 1;
    const from = time[index] as number;
    const to = from + lengthOf(columns, index);
    start[at] = from;
    end[at] = to;
    reach[at] = at === firstOf[key] ? to : Math.max(to, reach[at - 1] as number);
    kind[at] = kinds[columns.stage[index] as number] ?? FAMILIES.length - 1;
    span[at] = index;
    first = Math.min(first, from);
    last = Math.max(last, to);
  }
  const extent = { first_ns: first, last_ns: last > first ? last : first + 1 };
  return { columns, start, end, reach, kind, span, tracks, ...extent };
}

/** From when to when the span at a position ran. */
export function extentOf({ start, end }: Pick<Index, "start" | "end">, at: number): Range {
  return { from: start[at] as number, to: end[at] as number };
}

/** A loop, because `from` with a function takes ten times as long. */
function finite(values: Float64Array): Float64Array {
  const out = values.slice();
  for (let at = 0; at < out.length; at += 1) {
    if (!Number.isFinite(out[at])) {
      out[at] = 0;
    }
  }
  return out;
}

function lengthOf(columns: Columns, index: number): number {
  const length = columns.duration[index] as number;
  return length > 0 ? length : 0;
}

function trackKey(lane: number, depth: number): number {
  return lane * MOST_DEPTH + depth;
}

export function kindsOf(trace: TraceDocument): number[] {
  return (trace.stages ?? []).map((stage) =>
    stage.waits === true ? WAIT : FAMILIES.indexOf(familyOf(stage.family)),
  );
}

/** Of spans that begin together the longer one is outside; recorders often write it last. */
function longestFirst(order: Int32Array, time: Float64Array, duration: Float64Array): Int32Array {
  for (let from = 0; from < order.length; ) {
    let to = from + 1;
    while (to < order.length && time[order[to] as number] === time[order[from] as number]) {
      to += 1;
    }
    if (to - from > 1) {
      order
        .subarray(from, to)
        .sort((a, b) => (duration[b] as number) - (duration[a] as number) || a - b);
    }
    from = to;
  }
  return order;
}

/** The first level below its parent that is free: nested calls go down, overlapping tasks too. */
function depths(
  order: Int32Array,
  time: Float64Array,
  columns: Columns,
  laneCount: number,
): Uint8Array {
  const depth = new Uint8Array(columns.count);
  const busyUntil = new Float64Array(laneCount * MOST_DEPTH).fill(Number.NEGATIVE_INFINITY);
  for (const index of order) {
    const lane = columns.lane[index] as number;
    if (lane < 0) {
      continue;
    }
    const above = columns.parent[index] as number;
    const isNested = above >= 0 && columns.lane[above] === lane && above !== index;
    const from = time[index] as number;
    let level = isNested && (time[above] as number) <= from ? (depth[above] as number) + 1 : 0;
    while (level < MOST_DEPTH - 1 && (busyUntil[trackKey(lane, level)] as number) > from) {
      level += 1;
    }
    level = Math.min(level, MOST_DEPTH - 1);
    depth[index] = level;
    const key = trackKey(lane, level);
    busyUntil[key] = Math.max(busyUntil[key] as number, from + lengthOf(columns, index));
  }
  return depth;
}

function tracksOf(lanes: Int32Array, depth: Uint8Array): Track[] {
  const sizes: number[] = [];
  for (let index = 0; index < lanes.length; index += 1) {
    const lane = lanes[index] as number;
    if (lane >= 0) {
      const key = trackKey(lane, depth[index] as number);
      sizes[key] = (sizes[key] ?? 0) + 1;
    }
  }
  const tracks: Track[] = [];
  sizes.forEach((size, key) => {
    const [lane, from] = [Math.floor(key / MOST_DEPTH), tracks.at(-1)?.to ?? 0];
    tracks.push({ lane, depth: key % MOST_DEPTH, from, to: from + size, pyramid: null });
  });
  return tracks;
}
