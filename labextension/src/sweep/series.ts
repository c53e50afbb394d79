/** Lines over size: the median and spread of a variant, or of one of its stages, at each size. */

import {
  type DrawnTrace,
  drawnOf,
  known,
  type Point,
  type Runs,
  type Stage,
  type Crossover as StoredCrossover,
  type Fit as StoredFit,
  type SweepDocument,
  textOf,
  type Variant,
} from "../document/document";
import { grouped } from "../kit/sort";

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
  return runsOf(sweep, variant).flatMap(({ cold, point, stages, walls_ns, ...run }) => {
    const range = run.quartiles_ns ?? [walls_ns[0] as number, walls_ns.at(-1) as number];
    const own = point.stages[stage ?? ""];
    // A single run has no spread to be told.
    const times = stage === null ? [point.wall_ns, ...range] : (stages[stage] ?? [own, own, own]);
    const [median_ns, low_ns, high_ns] = times;
    const { size_bytes } = point;
    return cold === isCold && size_bytes && median_ns && low_ns && high_ns
      ? [{ size_bytes, median_ns, low_ns, high_ns, count: walls_ns.length }]
      : [];
  });
}

export function sizesOf(sweep: SweepDocument): number[] {
  const sizes = sweep.points.flatMap((point) => (point.size_bytes ? [point.size_bytes] : []));
  return [...new Set(sizes)].toSorted((a, b) => a - b);
}

/**
 * One piece from one measured size to another: a line, `fixed_ns + ns_per_byte * size`, or nothing
 * that can be told.
 */
export interface Fit extends Pick<StoredFit, "variant" | "cold" | "from_bytes" | "to_bytes"> {
  readonly stage: string | null;
  readonly growth: string;
  readonly fixed_ns: number | null;
  readonly ns_per_byte: number | null;
  /** What is different from `from_bytes` on; "" when nobody knows. */
  readonly cause: string;
  /** Interval of `ns_per_byte`. */
  readonly low: number | null;
  readonly high: number | null;
}

/** Growth of which no line can be told; the cause says why. */
const UNTOLD = "cannot tell";

/** One that lacks a number is left out. */
export function fitsOf(sweep: SweepDocument): Fit[] {
  return (sweep.fits ?? []).flatMap((fit) => {
    const [from_bytes, to_bytes] = [known(fit.from_bytes), known(fit.to_bytes)];
    const [fixed_ns, ns_per_byte] = [known(fit.fixed_ns), known(fit.ns_per_byte)];
    const [variant, growth, cause] = [fit.variant, textOf(fit.growth), textOf(fit.cause)];
    const hasLine = fixed_ns !== null && ns_per_byte !== null;
    const isUntold = !("fixed_ns" in fit || "ns_per_byte" in fit) && growth === UNTOLD;
    if (typeof variant !== "string" || from_bytes === null || to_bytes === null) {
      return [];
    }
    const law = { variant, from_bytes, to_bytes, growth, fixed_ns, ns_per_byte, cause };
    const stage = typeof fit.stage === "string" ? fit.stage : null;
    const [low, high] = [known(fit.low), known(fit.high)];
    return hasLine || isUntold ? [{ ...law, stage, cold: fit.cold === true, low, high }] : [];
  });
}

type Law = Pick<Fit, "fixed_ns" | "ns_per_byte">;

/** What the line says at a size, ns; null where there is none. */
export function lineAt({ fixed_ns, ns_per_byte }: Law, bytes: number): number | null {
  return fixed_ns === null || ns_per_byte === null ? null : fixed_ns + ns_per_byte * bytes;
}

/** Where a line breaks: between the last size of one piece and the first of the next. */
export type Break = Pick<Fit, "from_bytes" | "to_bytes">;

export function breaksOf(fits: readonly Fit[]): Break[] {
  const ordered = fits.toSorted((a, b) => a.from_bytes - b.from_bytes);
  return ordered.slice(1).map((next, at) => {
    const before = ordered[at] as Fit;
    return { from_bytes: before.to_bytes, to_bytes: Math.max(before.to_bytes, next.from_bytes) };
  });
}

export type Crossover = Required<StoredCrossover>;

export function crossoversOf(sweep: SweepDocument): Crossover[] {
  return (sweep.crossovers ?? []).flatMap((entry) => {
    const { from_bytes, to_bytes } = entry;
    const isKnown = typeof from_bytes === "number" && typeof to_bytes === "number";
    const title = typeof entry.title === "string" ? entry.title : "crossover";
    const pair = { faster: textOf(entry.faster), slower: textOf(entry.slower) };
    return isKnown && from_bytes > 0 && to_bytes >= from_bytes
      ? [{ title, cold: entry.cold === true, from_bytes, to_bytes, ...pair }]
      : [];
  });
}

/** The last crossover of each pair, of cold or of warm runs: a label each. */
export function choicesOf(sweep: SweepDocument, isCold: boolean): Crossover[] {
  const chosen = crossoversOf(sweep).filter(({ cold }) => cold === isCold);
  const pairs = grouped(chosen, ({ faster, slower }) => [faster, slower].toSorted().join("\n"));
  return [...pairs.values()].flatMap((each) => each.at(-1) ?? []);
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
      (known(point.moved_bytes) ?? 0) > 0,
  );
  return found?.moved_bytes ?? null;
}

/** What was asked for at a size: elements, rows, the chunk size; null where nobody tells. */
export function parameterAt({ points }: SweepDocument, size: number): number | null {
  const asked = points.flatMap((point) => (point.size_bytes === size ? [point.parameter] : []));
  return known(asked.find((each) => known(each) !== null));
}

/** The lines of a sweep: for each variant and size the cold run and the median warm one. */
export interface Run extends Pick<Runs, "cold" | "groups" | "quartiles_ns"> {
  /** The one whose time is that of all its points. */
  readonly point: Point;
  /** Wall times of all its points, ascending, ns. */
  readonly walls_ns: readonly number[];
  readonly stages: NonNullable<Runs["stages"]>;
  readonly trace: DrawnTrace | null;
}

/** As the document tells them; sizes ascend, cold before warm. */
export function runsOf(sweep: SweepDocument, variant: string): Run[] {
  const sizeOf = ({ point }: Run): number => point.size_bytes ?? 0;
  return (sweep.runs ?? [])
    .filter((runs) => runs.variant === variant)
    .map((runs) => runOf(sweep, runs))
    .sort((a, b) => sizeOf(a) - sizeOf(b) || Number(a.cold) - Number(b.cold));
}

function runOf(sweep: SweepDocument, runs: Runs): Run {
  const entry = sweep.traces.find(
    ({ cold, size_bytes, variant }) =>
      variant === runs.variant && size_bytes === runs.size_bytes && cold === runs.cold,
  );
  return {
    ...runs,
    point: sweep.points[runs.middle] as Point,
    walls_ns: runs.points.map((place) => (sweep.points[place] as Point).wall_ns),
    stages: runs.stages ?? {},
    trace: entry === undefined ? null : drawnOf(entry.trace),
  };
}

/** Its result lies in the memory of the original: it moved nothing, and is in no ranking. */
export function isAlias({ facts }: Variant): boolean {
  return facts?.is_alias === true;
}

/** Stands beside what is no choice, though it may take the shortest. */
export function outsideOf({ facts }: Variant): string {
  return facts?.unranked || isAlias({ facts } as Variant) ? "not compared" : "";
}

/** What the traces of a sweep tell of stages by key; the first one with a stage has its note. */
export function stagesOf(sweep: SweepDocument): ReadonlyMap<string, Stage> {
  const known = sweep.traces.toReversed().flatMap((entry) => entry.trace.stages ?? []);
  return new Map(known.map((stage) => [stage.key, stage]));
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
