/** What changed between two samples of times, and whether that can be told. */

export interface Difference {
  /** Median of all differences between the two samples, ns. */
  readonly shift_ns: number;
  /** 95 % interval of the shift; null with too few repeats. */
  readonly interval_ns: readonly [number, number] | null;
  readonly verdict: "faster" | "slower" | "cannot tell";
}

/** With fewer on a side no interval at 95 % exists. */
export const FEWEST_REPEATS = 4;
/** Standard normal, two sided 95 %. */
const Z = 1.96;

/**
 * Hodges-Lehmann shift with the interval that inverts the Mann-Whitney test: no distribution is
 * assumed, and a few wild repeats do not matter.
 */
export function difference(before: readonly number[], after: readonly number[]): Difference {
  const all = after
    .flatMap((late) => before.map((early) => late - early))
    .toSorted((a, b) => a - b);
  if (all.length === 0) {
    return { shift_ns: 0, interval_ns: null, verdict: "cannot tell" };
  }
  const shift = ((all[(all.length - 1) >> 1] as number) + (all[all.length >> 1] as number)) / 2;
  if (Math.min(before.length, after.length) < FEWEST_REPEATS) {
    return { shift_ns: shift, interval_ns: null, verdict: "cannot tell" };
  }
  const [n, m] = [before.length, after.length];
  const cut = Math.max(0, Math.floor((n * m) / 2 - Z * Math.sqrt((n * m * (n + m + 1)) / 12)));
  const interval = [all[cut] as number, all[all.length - 1 - cut] as number] as const;
  const verdict = interval[1] < 0 ? "faster" : interval[0] > 0 ? "slower" : "cannot tell";
  return { shift_ns: shift, interval_ns: interval, verdict };
}
