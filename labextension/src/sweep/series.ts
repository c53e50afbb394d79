/** Lines over size: the median and spread of a variant, or of one of its stages, at each size. */

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
import { middleAt, rateOf } from "../document/format";

export interface SizePoint {
  readonly size_bytes: number;
  readonly median_ns: number;
  /** Middle half of the runs, or all of them when there are fewer than four, ns. */
  readonly low_ns: number;
  readonly high_ns: number;
  readonly count: number;
}

/** Sizes without a time above 0 are left out: they have no place on a logarithmic axis. */
export function seriesOf(
  sweep: SweepDocument,
  variant: string,
  isCold: boolean,
  stage: string | null = null,
): SizePoint[] {
  const sizes = new Map<number, number[]>();
  for (const point of sweep.points) {
    const time = timeOf(point, stage);
    if (point.variant === variant && point.cold === isCold && point.size_bytes && time > 0) {
      sizes.set(point.size_bytes, [...(sizes.get(point.size_bytes) ?? []), time]);
    }
  }
  return [...sizes]
    .map(([size, times]) => sizePoint(size, times))
    .toSorted((a, b) => a.size_bytes - b.size_bytes);
}

function timeOf(point: Point, stage: string | null): number {
  return stage === null ? point.wall_ns : (point.stages[stage] ?? 0);
}

function sizePoint(size_bytes: number, times: readonly number[]): SizePoint {
  const sorted = times.toSorted((a, b) => a - b);
  const isFew = sorted.length < 4;
  return {
    size_bytes,
    median_ns: sorted[middleAt(sorted)] as number,
    low_ns: quantile(sorted, isFew ? 0 : 0.25),
    high_ns: quantile(sorted, isFew ? 1 : 0.75),
    count: sorted.length,
  };
}

export function sizesOf(sweep: SweepDocument): number[] {
  const sizes = sweep.points.flatMap((point) => (point.size_bytes ? [point.size_bytes] : []));
  return [...new Set(sizes)].toSorted((a, b) => a - b);
}

/**
 * One regime of growth from one measured size to another: a line, `fixed_ns + ns_per_byte * size`,
 * or without both a power, or nothing that can be told.
 */
export interface Fit {
  readonly variant: string;
  readonly stage: string | null;
  readonly cold: boolean;
  readonly from_bytes: number;
  readonly to_bytes: number;
  readonly growth: string;
  readonly fixed_ns: number | null;
  readonly ns_per_byte: number | null;
  /** What is different from `from_bytes` on; "" when nobody knows. */
  readonly cause: string;
  /** Of time over size; 1 is a straight line. */
  readonly exponent: number | null;
  /** Interval of `ns_per_byte`. */
  readonly low: number | null;
  readonly high: number | null;
  readonly holdout: Holdout | null;
}

/** A size that was measured and not used for the line. */
export interface Holdout {
  readonly size_bytes: number;
  /** The line against the measurement: below 0 it promises too little. */
  readonly error_share: number;
  readonly measured_ns: number;
  readonly line_ns: number;
}

/** Growth that no straight line says. */
const WITHOUT_LINE = ["superlinear", "sublinear", "cannot tell"];

/** One that lacks a number is left out. */
export function fitsOf(sweep: SweepDocument): Fit[] {
  return (sweep.fits ?? []).flatMap((fit) => {
    const { from_bytes, to_bytes, variant } = fit;
    const growth = typeof fit.growth === "string" ? fit.growth : "";
    const [fixed_ns, ns_per_byte] = [numberOf(fit.fixed_ns), numberOf(fit.ns_per_byte)];
    const hasLine = fixed_ns !== null && ns_per_byte !== null;
    const isCurved = !("fixed_ns" in fit || "ns_per_byte" in fit) && WITHOUT_LINE.includes(growth);
    if (typeof variant !== "string" || !isNumber(from_bytes) || !isNumber(to_bytes)) {
      return [];
    }
    if (!(hasLine || isCurved)) {
      return [];
    }
    const known = { from_bytes, to_bytes, growth, fixed_ns, ns_per_byte };
    return [
      {
        ...known,
        variant,
        stage: typeof fit.stage === "string" ? fit.stage : null,
        cold: fit.cold === true,
        cause: typeof fit.cause === "string" ? fit.cause : "",
        exponent: numberOf(fit.exponent),
        low: numberOf(fit.low),
        high: numberOf(fit.high),
        holdout: holdoutOf(known, fit.holdout),
      },
    ];
  });
}

type Law = Pick<Fit, "fixed_ns" | "ns_per_byte">;

/** What the line says at a size, ns; null where there is none. */
export function lineAt({ fixed_ns, ns_per_byte }: Law, bytes: number): number | null {
  return fixed_ns === null || ns_per_byte === null ? null : fixed_ns + ns_per_byte * bytes;
}

function holdoutOf(fit: Law, value: unknown): Holdout | null {
  const { size_bytes, error_share } = (value ?? {}) as Record<string, unknown>;
  if (!isNumber(size_bytes) || !isNumber(error_share) || !(size_bytes > 0)) {
    return null;
  }
  const line_ns = lineAt(fit, size_bytes);
  const measured_ns = (line_ns ?? 0) / (1 + error_share);
  return line_ns !== null && isNumber(measured_ns) && measured_ns > 0
    ? { size_bytes, error_share, measured_ns, line_ns }
    : null;
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

function numberOf(value: unknown): number | null {
  return isNumber(value) ? value : null;
}

/** Where a line breaks: between the last size of one regime and the first of the next. */
export interface Break {
  readonly from_bytes: number;
  readonly to_bytes: number;
  readonly cause: string;
  /** How many times longer it takes behind the break; below 1 it is shorter. 1: no line says. */
  readonly jump: number;
}

export function breaksOf(fits: readonly Fit[]): Break[] {
  const ordered = fits.toSorted((a, b) => a.from_bytes - b.from_bytes);
  return ordered.slice(1).map((next, at) => {
    const before = ordered[at] as Fit;
    const [from_bytes, to_bytes] = [before.to_bytes, Math.max(before.to_bytes, next.from_bytes)];
    const [old, now] = [lineAt(before, to_bytes), lineAt(next, to_bytes)];
    const jump = old !== null && now !== null && old > 0 && now > 0 ? now / old : 1;
    return { from_bytes, to_bytes, cause: next.cause, jump };
  });
}

export interface Crossover {
  readonly title: string;
  readonly cold: boolean;
  readonly from_bytes: number;
  readonly to_bytes: number;
}

export function crossoversOf(sweep: SweepDocument): Crossover[] {
  return (sweep.crossovers ?? []).flatMap((entry) => {
    const [from, to] = [entry.from_bytes, entry.to_bytes];
    return typeof from === "number" && typeof to === "number" && from > 0 && to >= from
      ? [
          {
            title: typeof entry.title === "string" ? entry.title : "crossover",
            cold: entry.cold === true,
            from_bytes: from,
            to_bytes: to,
          },
        ]
      : [];
  });
}

/** Bytes that were written at a size; null where nobody counted, or nothing had to be written. */
export function movedAt(
  { points }: SweepDocument,
  variant: string,
  isCold: boolean,
  size: number,
): number | null {
  const found = points.find(
    (point) =>
      point.variant === variant &&
      point.cold === isCold &&
      point.size_bytes === size &&
      isNumber(point.moved_bytes) &&
      point.moved_bytes > 0,
  );
  return found?.moved_bytes ?? null;
}

/** What was asked for at a size: elements, rows, the chunk size; null where nobody tells. */
export function parameterAt({ points }: SweepDocument, size: number): number | null {
  return numberOf(
    points.find((point) => point.size_bytes === size && isNumber(point.parameter))?.parameter,
  );
}

/** The recommended chunk size, as the finding tells it. */
export interface Best {
  readonly best_bytes: number;
  readonly low_bytes: number;
  readonly high_bytes: number;
  readonly parameter: string;
  readonly best: number | null;
  readonly below: string;
  readonly above: string;
}

export function bestOf({ findings }: SweepDocument): Best | null {
  const evidence = findings?.find(({ rule }) => rule === "dask.chunk-sweep")?.evidence ?? {};
  const best_bytes = numberOf(evidence.best_bytes);
  if (best_bytes === null || best_bytes <= 0) {
    return null;
  }
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return {
    best_bytes,
    low_bytes: numberOf(evidence.low_bytes) || best_bytes,
    high_bytes: numberOf(evidence.high_bytes) || best_bytes,
    parameter: text(evidence.parameter),
    best: numberOf(evidence.best),
    below: text(evidence.limits_below),
    above: text(evidence.limits_above),
  };
}

/** The lines of a sweep: for each variant and size the cold run and the median warm one. */

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
