/** The lines of a sweep: for each variant and size the cold run and the median warm one. */

import { quantileSorted } from "d3-array";
import {
  type DrawnTrace,
  drawnOf,
  type Point,
  type Row,
  type Stage,
  type SweepDocument,
  type Variant,
} from "../document/document";
import { rateOf } from "../document/format";
import { middleAt } from "../document/times";

export interface Run {
  readonly variant: string;
  readonly cold: boolean;
  /** The one whose time is that of all its points. */
  readonly point: Point;
  /** Wall times of all its points, sorted, ns. */
  readonly walls_ns: readonly number[];
  readonly trace: DrawnTrace | null;
}

/** Cold runs are never mixed with warm ones; sizes ascend. */
export function runsOf(sweep: SweepDocument, variant: string): Run[] {
  const groups = new Map<string, Point[]>();
  for (const point of sweep.points.filter((candidate) => candidate.variant === variant)) {
    const key = `${point.size_bytes} ${point.cold}`;
    groups.set(key, [...(groups.get(key) ?? []), point]);
  }
  return [...groups.values()]
    .map((points) => runOf(sweep, points))
    .sort(
      (a, b) =>
        (a.point.size_bytes ?? 0) - (b.point.size_bytes ?? 0) || Number(b.cold) - Number(a.cold),
    );
}

function runOf(sweep: SweepDocument, points: Point[]): Run {
  const sorted = points.toSorted((a, b) => a.wall_ns - b.wall_ns);
  const walls_ns = sorted.map((each) => each.wall_ns);
  const point = sorted[middleAt(walls_ns)] as Point;
  const entry = sweep.traces.find(
    (candidate) =>
      candidate.variant === point.variant &&
      candidate.size_bytes === point.size_bytes &&
      candidate.cold === point.cold,
  );
  return {
    variant: point.variant,
    cold: point.cold,
    point,
    walls_ns,
    trace: entry === undefined ? null : drawnOf(entry.trace),
  };
}

/** Its result lies in the memory of the original: it moved nothing, and is in no ranking. */
export function isAlias({ facts, result }: Variant): boolean {
  // Older documents say it with the result alone.
  return (facts?.is_alias ?? (result ?? "").includes("aliases the original")) === true;
}

/** Of sorted values; not a number when there are none. */
export function quantile(sorted: readonly number[], share: number): number {
  return quantileSorted(sorted as number[], share) ?? Number.NaN;
}

/** First and third quartile; null with fewer than four values, where they would say little. */
export function quartiles(sorted: readonly number[]): readonly [number, number] | null {
  if (sorted.length < 4) {
    return null;
  }
  return [quantile(sorted, 0.25), quantile(sorted, 0.75)];
}

/** Titles, families and order of stage keys, as the traces of the sweep tell them. */
export function stagesOf(sweep: SweepDocument): ReadonlyMap<string, Stage> {
  const known = sweep.traces.flatMap((entry) => entry.trace.stages ?? []);
  return new Map(known.map((stage) => [stage.key, stage]));
}

/** The rate of the stage that copies the bytes, in bytes per second; null when nothing is copied. */
export function copyRateOf(run: Run): number | null {
  const copied = (row: Row): number => row.copied_bytes ?? 0;
  const carrier = run.trace?.waterfall.rows.toSorted((a, b) => copied(b) - copied(a))[0];
  return carrier === undefined ? null : rateOf(copied(carrier), carrier.busy_ns);
}

/** Stage keys and the time each owned, in the order of the road. */
export function inOrder(run: Run, stages: ReadonlyMap<string, Stage>): [string, number][] {
  const order = (key: string): number => stages.get(key)?.order ?? Number.MAX_SAFE_INTEGER;
  return Object.entries(run.point.stages).toSorted((a, b) => order(a[0]) - order(b[0]));
}

/** Several sizes make a sweep that can be drawn over size. */
export function hasSizes(sweep: SweepDocument): boolean {
  return new Set(sweep.points.map((point) => point.size_bytes)).size > 1;
}
