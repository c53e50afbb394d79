/** A comparison that a document carries: its changes as they are drawn on a logarithmic axis. */

import { type Change, type Comparison, known } from "../document/document";
import { count } from "../document/format";
import { grouped } from "../kit/sort";

/** Symbols beside the words, so that nobody has to tell colours apart. */
export const VERDICT_SIGNS: Readonly<Record<string, string>> = {
  faster: "▼",
  slower: "▲",
  "cannot tell": "≈",
  "only before": "−",
  "only after": "+",
};

export interface Axis {
  /** Ratios at the ends, 1 lies between them. */
  readonly from: number;
  readonly to: number;
  /** How far runs of one side lie apart; 1 where they ran in turns: what drifts, drifts for both. */
  readonly noise: number;
  readonly ticks: readonly number[];
}

const STEPS = [1, 2, 5];
/** So much is shown on both sides at least, and at most. */
const [LEAST, MOST] = [1.25, 1_000];

/** As far on both sides of 1 as the farthest interval: what lies left is as much as right. */
export function axisOf({ changes, is_paired, noise_share }: Comparison): Axis {
  const ends = (changes ?? []).flatMap(({ high, low, ratio }) => [high, low, ratio]);
  const noise = 1 + (is_paired === true ? 0 : (known(noise_share) ?? 0));
  const spans = [noise, ...ends.flatMap((end) => ratioOf(end) ?? [])];
  const reach = Math.max(...spans.map((each) => Math.max(each, 1 / each)));
  const to = Math.min(MOST, Math.max(LEAST, reach * 1.1));
  return { from: 1 / to, noise, ticks: ticksTo(to), to };
}

function ticksTo(to: number): number[] {
  const right = [1, 10, 100, 1_000]
    .flatMap((decade) => STEPS.map((step) => step * decade))
    .filter((each) => each <= to * 0.9); // a label has room behind it
  const few = right.length > 4 ? right.filter((each) => Number.isInteger(Math.log10(each))) : right;
  const left = few.map((each) => 1 / each).toReversed();
  return to < 2 ? [1] : [...left.slice(0, -1), ...few];
}

/** Where a ratio stands, 0..1; what lies beyond the ends stands at the end. */
export function placeOf(ratio: number, { from, to }: Axis): number {
  return Math.min(1, Math.max(0, Math.log(ratio / from) / Math.log(to / from)));
}

export function ratioOf(value: unknown): number | null {
  const number = known(value);
  return number !== null && number > 0 ? number : null;
}

/** Of a sweep: the changes of one variant, size and temperature stand together. */
export function groupsOf(comparison: Comparison): (readonly Change[])[] {
  const keyOf = ({ cold, size_bytes, variant }: Change): string =>
    JSON.stringify([variant, size_bytes, cold]);
  return [...grouped(comparison.changes ?? [], keyOf).values()];
}

/** The changes of a group; the small ones are told together, of one cold run only the whole. */
export function gathered(all: readonly Change[]): readonly Change[] {
  const isOneColdRun = ({ before_runs, cold, low, stage }: Change): boolean =>
    stage !== "" && cold === true && low == null && before_runs === 1;
  const changes = all.filter((change) => !isOneColdRun(change));
  const sides = ["before_ns", "after_ns"] as const;
  const isTimed = (change: Change): boolean => sides.some((side) => (known(change[side]) ?? 0) > 0);
  const small = changes.filter((change) => change.is_small === true && isTimed(change));
  const sum = (side: (typeof sides)[number]): number =>
    small.reduce((total, change) => total + (known(change[side]) ?? 0), 0);
  const title = `${count(small.length)} more stage${small.length === 1 ? "" : "s"}`;
  const more = { before_ns: sum("before_ns"), after_ns: sum("after_ns"), verdict: "" };
  return [
    ...changes.filter((change) => change.is_small !== true),
    ...(small.length > 0 ? [{ ...more, stage: "more", title } as unknown as Change] : []),
  ];
}
