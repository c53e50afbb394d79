/** The critical path: which span owned the wall time when, as the waterfall of the document says. */

import type { Row, TraceDocument } from "../document/schema";
import { firstAbove } from "../kit/sort";
import type { Index, Track } from "../lanes/tracks";

export interface Step {
  readonly from_ns: number;
  readonly to_ns: number;
  /** Position of its track in `Index.tracks`. */
  readonly track: number;
}

/**
 * Who owned the wall time when, each stretch on the track of the innermost span it belongs to; of
 * merged stretches, which may have no span in their middle, on the outermost track of the lane.
 */
export function criticalPath(trace: TraceDocument, index: Index): Step[] {
  const tracks = index.tracks.map((track, at) => ({ ...track, at })).reverse();
  const rows = trace.waterfall?.rows ?? [];
  return ownersOf(rows).flatMap(({ from_ns, to_ns, position }) => {
    const { lane, stage } = rows[position] as Row;
    const own = tracks.filter((track) => track.lane === lane);
    const others = tracks.filter((track) => track.lane !== lane);
    const middle = (from_ns + to_ns) / 2;
    const found =
      [...own, ...others].find((track) => holds(index, track, middle, middle, stage)) ??
      own.findLast((track) => holds(index, track, from_ns, to_ns, stage));
    return found === undefined ? [] : [{ from_ns, to_ns, track: found.at }];
  });
}

export type Piece = readonly [startNs: number, durationNs: number];

export function piecesOf(row: Row): readonly Piece[] {
  if (row.pieces !== undefined && row.pieces.length > 0) {
    return row.pieces;
  }
  return row.self_ns > 0 ? [[row.start_ns, row.self_ns]] : [];
}

/** Pieces in the order of time; those that touch are one. */
export function joined(pieces: readonly Piece[]): [number, number][] {
  const out: [number, number][] = [];
  for (const [start, length] of pieces.toSorted((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last !== undefined && start <= last[0] + last[1]) {
      last[1] = Math.max(last[1], start + length - last[0]);
    } else {
      out.push([start, length]);
    }
  }
  return out;
}

/** The part of its pieces in which something was at work, 0..1; below 1 where they are merged. */
export function densityOf(ownNs: number, pieces: readonly Piece[]): number {
  const covered = lengthOf(pieces);
  return covered > 0 ? Math.min(1, ownNs / covered) : 1;
}

export function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, [, length]) => sum + length, 0);
}

/** A stretch of the wall time and the row that owned it. */
export interface Owned {
  readonly from_ns: number;
  readonly to_ns: number;
  readonly position: number;
}

/** Who owned the wall time when; where the document has merged pieces, the row with most of them. */
export function ownersOf(rows: readonly Row[]): Owned[] {
  const all = rows.flatMap((row, position) => {
    const pieces = piecesOf(row);
    const density = row.self_ns / (lengthOf(pieces) || 1);
    return pieces.map(([start, length]) => ({ start, end: start + length, position, density }));
  });
  all.sort((a, b) => a.start - b.start);
  const times = [...new Set(all.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const owned: { from_ns: number; to_ns: number; position: number }[] = [];
  let active: typeof all = [];
  let next = 0;
  times.forEach((time, at) => {
    active = active.filter(({ end }) => end > time);
    for (; (all[next]?.start ?? Number.POSITIVE_INFINITY) <= time; next += 1) {
      active.push(all[next] as (typeof all)[number]);
    }
    const owner = active.toSorted((a, b) => b.density - a.density)[0];
    const to_ns = times[at + 1];
    const last = owned.at(-1);
    if (owner === undefined || to_ns === undefined) {
      return;
    }
    if (last?.position === owner.position && last.to_ns === time) {
      last.to_ns = to_ns;
    } else {
      owned.push({ from_ns: time, to_ns, position: owner.position });
    }
  });
  return owned;
}

export interface Handover {
  readonly time_ns: number;
  readonly from: number;
  readonly to: number;
}

/** More lines than these would hide the bars. */
const MOST_HANDOVERS = 40;

/** Where one line of the picture takes over from another; the shortest stretches are left out. */
export function handovers(
  owned: readonly Owned[],
  lineOf: (position: number) => number,
  leastNs: number,
): Handover[] {
  const long = owned.filter((each) => each.to_ns - each.from_ns >= leastNs);
  const found = long.slice(1).flatMap((each, at) => {
    const [from, to] = [lineOf((long[at] as Owned).position), lineOf(each.position)];
    return from === to ? [] : [{ time_ns: each.from_ns, from, to }];
  });
  return found.length > MOST_HANDOVERS
    ? handovers(long, lineOf, Math.max(1, leastNs * 1.5))
    : found;
}

/** Merged pieces begin and end between spans, so that it may take some until one is found. */
const MOST_LOOKS = 64;

function holds(index: Index, track: Track, from: number, to: number, stage: number): boolean {
  const first = firstAbove(index.reach, from, track.from, track.to);
  for (let at = first; at < Math.min(track.to, first + MOST_LOOKS); at += 1) {
    if ((index.start[at] as number) > to) {
      return false;
    }
    if (index.columns.stage[index.span[at] as number] === stage) {
      return true;
    }
  }
  return false;
}
