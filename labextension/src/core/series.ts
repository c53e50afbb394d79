/** Lines over size: the median and spread of a variant, or of one of its stages, at each size. */

import type { Point, SweepDocument } from "./document";
import { quantile } from "./runs";

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
    median_ns: quantile(sorted, 0.5),
    low_ns: quantile(sorted, isFew ? 0 : 0.25),
    high_ns: quantile(sorted, isFew ? 1 : 0.75),
    count: sorted.length,
  };
}

export function sizesOf(sweep: SweepDocument): number[] {
  const sizes = sweep.points.flatMap((point) => (point.size_bytes ? [point.size_bytes] : []));
  return [...new Set(sizes)].toSorted((a, b) => a - b);
}

/** One regime of a fitted line, `fixed_ns + ns_per_byte * size` from one measured size to another. */
export interface Fit {
  readonly variant: string;
  readonly stage: string | null;
  readonly cold: boolean;
  readonly from_bytes: number;
  readonly to_bytes: number;
  readonly fixed_ns: number;
  readonly ns_per_byte: number;
}

/** Fits are scalars by name; one that lacks a number is not drawn. */
export function fitsOf(sweep: SweepDocument): Fit[] {
  return (sweep.fits ?? []).flatMap((fit) => {
    const numbers = ["from_bytes", "to_bytes", "fixed_ns", "ns_per_byte"].map((key) => fit[key]);
    if (typeof fit.variant !== "string" || !numbers.every(Number.isFinite)) {
      return [];
    }
    const [from_bytes, to_bytes, fixed_ns, ns_per_byte] = numbers as [
      number,
      number,
      number,
      number,
    ];
    const stage = typeof fit.stage === "string" ? fit.stage : null;
    const { variant } = fit;
    return [
      { variant, stage, cold: fit.cold === true, from_bytes, to_bytes, fixed_ns, ns_per_byte },
    ];
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
