/**
 * The time of several runs, as `jupyter_serprof/model/times.py` defines it: that of a run that was
 * made, the middle one, of an even number the faster of the two in the middle. Of runs in two
 * groups it is the middle one of the larger group, and both are told.
 */

/** Between groups nothing lies for so many times the time, and each has a fifth of the runs. */
const GAP_RATIO = 1.5;
const SMALLEST_GROUP_SHARE = 0.2;
const FEWEST_RUNS = 2;

/** The place of the time of runs in their ascending times; the larger group, the faster of two. */
export function middleAt(sorted: readonly number[]): number {
  const cut = gapOf(sorted) ?? 0;
  return cut < sorted.length - cut ? cut + ((sorted.length - cut - 1) >> 1) : (cut - 1) >> 1;
}

/** Ascending times as one group, or as two with a gap between them. */
export function groupsOf(sorted: readonly number[]): (readonly number[])[] {
  const cut = gapOf(sorted);
  return cut === null ? [sorted] : [sorted.slice(0, cut), sorted.slice(cut)];
}

/** How many runs are below the widest gap; null if it is no gap between groups. */
function gapOf(sorted: readonly number[]): number | null {
  const least = Math.max(FEWEST_RUNS, Math.ceil(SMALLEST_GROUP_SHARE * sorted.length));
  let [widest, found] = [GAP_RATIO, null as number | null];
  for (let at = least; at <= sorted.length - least; at++) {
    const ratio = (sorted[at] as number) / Math.max(1, sorted[at - 1] as number);
    if (ratio > widest || (found === null && ratio === widest)) {
      [widest, found] = [ratio, at];
    }
  }
  return found;
}
