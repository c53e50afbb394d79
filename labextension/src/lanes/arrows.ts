/** Causes across lanes: what the document says started what, for one span. */

import type { TraceDocument } from "../document/schema";
import { BAR_HEIGHT, type LaneLayout } from "./layout";
import type { Index } from "./tracks";

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
export function arrowsOf(
  trace: TraceDocument,
  index: Index,
  layout: LaneLayout,
  cursor: number,
): Arrow[] {
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
  return pairs.flatMap(([from, to]) => arrowOf(trace, index, layout, from, to));
}

/** None is drawn that is shorter than the clocks are uncertain: cause and effect could be swapped. */
function arrowOf(
  trace: TraceDocument,
  index: Index,
  layout: LaneLayout,
  from: number,
  to: number,
): Arrow[] {
  const began = index.start[to] as number;
  const ended = index.end[from] as number;
  const isInside = ended > began;
  const since = began - (isInside ? (index.start[from] as number) : ended);
  const [y0, y1] = [yOf(layout, from), yOf(layout, to)];
  if (since < errorOf(trace, index, from) + errorOf(trace, index, to) || y0 === y1) {
    return [];
  }
  const isDown = y0 < y1;
  return [
    {
      from_ns: isInside ? began : ended,
      to_ns: began,
      y0: isDown ? y0 + BAR_HEIGHT : y0,
      y1: isDown ? y1 : y1 + BAR_HEIGHT,
    },
  ];
}

function errorOf(trace: TraceDocument, index: Index, at: number): number {
  const lane = index.columns.lane[index.span[at] as number] as number;
  return trace.lanes[lane]?.clock_error_ns ?? 0;
}

function yOf(layout: LaneLayout, at: number): number {
  const strips = layout.rows.flatMap((row) => row.strips);
  return strips.find(({ track }) => at >= track.from && at < track.to)?.y ?? 0;
}
