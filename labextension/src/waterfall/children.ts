/** What a stage consists of: its spans by name, for the rows that open below it. */

import type { Columns } from "../document/decode";
import type { TraceDocument } from "../document/schema";
import { grouped } from "../kit/sort";
import { densityOf, joined, type Piece } from "./critical";

export interface Child {
  readonly name: string;
  readonly count: number;
  /** Time of its spans without what nested spans take, ns. */
  readonly busy_ns: number;
  readonly size_bytes: number | null;
  readonly pieces: readonly Piece[];
  /** The part of its pieces in which it was at work, 0..1. */
  readonly density: number;
}

const MOST_PIECES = 60;

/** Children of each stage index, longest first; a stage with one nameless kind of span has none. */
export function childrenOf(
  trace: TraceDocument,
  columns: Columns,
  isMeant: (startNs: number) => boolean = () => true,
): Map<number, Child[]> {
  const exclusive = exclusiveTimes(columns);
  const all = Array.from({ length: columns.count }, (_, span) => span);
  const spans = all.filter((span) => isMeant(columns.start[span] as number));
  const stages = grouped(spans, (span) => columns.stage[span] as number);
  const children = [...stages].map(([stage, own]) => {
    const title = trace.stages[stage]?.title;
    const names = grouped(own, (span) => columns.name[span] as number);
    const list = [...names].map(([name, some]) =>
      childOf(String(trace.strings[name] ?? title ?? ""), some, columns, exclusive),
    );
    return [stage, list.toSorted((a, b) => b.busy_ns - a.busy_ns)] as const;
  });
  return new Map(children.filter(([, list]) => list.length > 1));
}

function exclusiveTimes(columns: Columns): Float64Array {
  const times = Float64Array.from(columns.duration, (value) => (value > 0 ? value : 0));
  for (let span = 0; span < columns.count; span += 1) {
    const above = columns.parent[span] as number;
    if (above >= 0 && above !== span && columns.lane[above] === columns.lane[span]) {
      const length = columns.duration[span] as number;
      times[above] = Math.max(0, (times[above] as number) - (length > 0 ? length : 0));
    }
  }
  return times;
}

function childOf(name: string, spans: number[], columns: Columns, times: Float64Array): Child {
  const busy = spans.reduce((sum, span) => sum + (times[span] as number), 0);
  const sizes = spans.map((span) => columns.size[span] as number).filter((size) => size >= 0);
  const pieces = merged(spans, columns);
  return {
    name,
    count: spans.length,
    busy_ns: busy,
    size_bytes: sizes.length === 0 ? null : sizes.reduce((sum, size) => sum + size, 0),
    pieces,
    density: densityOf(busy, pieces),
  };
}

/** The stretches that spans cover; the smallest gaps are closed until few enough remain. */
function merged(spans: readonly number[], columns: Columns): Piece[] {
  const known = spans
    .map((span) => [columns.start[span] as number, columns.duration[span] as number] as const)
    .filter(([start, length]) => Number.isFinite(start) && length >= 0);
  return closed(joined(known));
}

function closed(pieces: readonly [number, number][]): Piece[] {
  if (pieces.length <= MOST_PIECES) {
    return [...pieces];
  }
  const gap = (at: number): number => {
    const [before, after] = [pieces[at - 1], pieces[at]] as [[number, number], [number, number]];
    return after[0] - before[0] - before[1];
  };
  const gaps = [...pieces.keys()].slice(1).toSorted((a, b) => gap(b) - gap(a));
  const cuts = new Set(gaps.slice(0, MOST_PIECES - 1));
  const out: [number, number][] = [];
  pieces.forEach(([start, length], at) => {
    const last = out.at(-1);
    if (last === undefined || cuts.has(at)) {
      out.push([start, length]);
    } else {
      last[1] = start + length - last[0];
    }
  });
  return out;
}
