/** The critical path: which span owned the wall time when, as the waterfall of the document says. */

import type { Row, TraceDocument } from "./schema";
import { firstAbove } from "./sort";
import type { Index } from "./tracks";

export interface Step {
  readonly from_ns: number;
  readonly to_ns: number;
  /** Position of its track in `Index.tracks`. */
  readonly track: number;
}

/** Pieces of all rows in order of time, each on the track of the innermost span it belongs to. */
export function criticalPath(trace: TraceDocument, index: Index): Step[] {
  const tracks = index.tracks.map((track, at) => ({ ...track, at }));
  const steps = (trace.waterfall?.rows ?? []).flatMap((row) =>
    piecesOf(row).flatMap(([start, length]) => {
      const own = tracks.filter((track) => track.lane === row.lane);
      const others = tracks.filter((track) => track.lane !== row.lane);
      const middle = start + length / 2;
      const found = [...own.toReversed(), ...others.toReversed()].find((track) =>
        holds(index, track, middle, row.stage),
      );
      return found === undefined
        ? []
        : [{ from_ns: start, to_ns: start + length, track: found.at }];
    }),
  );
  return steps.toSorted((a, b) => a.from_ns - b.from_ns);
}

export type Piece = readonly [startNs: number, durationNs: number];

export function piecesOf(row: Row): readonly Piece[] {
  if (row.pieces !== undefined && row.pieces.length > 0) {
    return row.pieces;
  }
  return row.self_ns > 0 ? [[row.start_ns, row.self_ns]] : [];
}

function holds(
  index: Index,
  track: { from: number; to: number },
  time: number,
  stage: number,
): boolean {
  const at = firstAbove(index.reach, time, track.from, track.to);
  return (
    at < track.to &&
    (index.start[at] as number) <= time &&
    index.columns.stage[index.span[at] as number] === stage
  );
}
