/** The visible stretch of time, and logarithmic axes. */

import { ticks as roundValues } from "d3-array";

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** From the earlier to the later. */
export function between(one: number, other: number): Range {
  return { from: Math.min(one, other), to: Math.max(one, other) };
}

/** Nobody looks closer than this, ns. */
const NARROWEST = 20;

/** The range moved and shrunk so that it lies within the limits. */
export function within(range: Range, limits: Range): Range {
  const widest = limits.to - limits.from;
  const width = Math.min(widest, Math.max(Math.min(NARROWEST, widest), range.to - range.from));
  const from = Math.min(Math.max(range.from, limits.from), limits.to - width);
  return { from, to: from + width };
}

/** Zoom so that `at` stays where it is; a factor below 1 shows less. */
export function zoomed(range: Range, limits: Range, at: number, factor: number): Range {
  return within(
    { from: at - (at - range.from) * factor, to: at + (range.to - at) * factor },
    limits,
  );
}

/** Move by a share of what is visible. */
export function panned(range: Range, limits: Range, share: number): Range {
  const by = (range.to - range.from) * share;
  return within({ from: range.from + by, to: range.to + by }, limits);
}

/** A range that shows this stretch with a little room on both sides. */
export function around({ from, to }: Range, limits: Range): Range {
  const room = Math.max((to - from) * 0.08, NARROWEST / 2);
  return within({ from: from - room, to: to + room }, limits);
}

/** From the smallest to the largest of some positive values, with a little room, as powers of ten. */
export function decades(values: readonly number[]): Range {
  const known = values.filter((value) => value > 0).map(Math.log10);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const room = Math.max(0.06 * (high - low), 0.1);
  return known.length === 0 ? { from: 0, to: 1 } : { from: low - room, to: high + room };
}

/** Powers of ten for a logarithmic axis, of few also 1, 2, 5; of many every second or third. */
export function logTicks({ from, to }: Range, most: number): number[] {
  const first = Math.floor(from);
  const powers = Array.from({ length: Math.ceil(to) - first + 1 }, (_, at) => first + at);
  const inside = powers.filter((power) => power >= from && power <= to);
  const steps = inside.length > 2 ? [1] : [1, 2, 5];
  const values = powers
    .flatMap((power) => steps.map((times) => times * 10 ** power))
    .filter((value) => Math.log10(value) >= from && Math.log10(value) <= to);
  const every = Math.max(1, Math.ceil(values.length / most));
  return values.filter((_, at) => at % every === 0);
}

/** Where a value stands on a logarithmic axis, 0..1. */
export function logShare(value: number, axis: Range): number {
  return (Math.log10(Math.max(value, Number.MIN_VALUE)) - axis.from) / (axis.to - axis.from);
}

/** Labels stop here (share of the axis), because its end has a label of its own. */
export const LAST_LABEL_SHARE = 0.72;

/** Round values from 0 up to the end. */
export function ticks(end: number, most = 4): number[] {
  return end > 0 ? ticksBetween(0, end, most) : [0];
}

/** Round values of a stretch that need not begin at 0; never more than there is room for. */
export function ticksBetween(from: number, to: number, most: number): number[] {
  if (!(to > from) || !(most > 0) || !Number.isFinite(to - from)) {
    return [];
  }
  // d3 takes the number as a hint: its round steps are 1, 2 and 5, so it may give more.
  let values = roundValues(from, to, most);
  for (let wanted = most - 1; values.length > most && wanted > 0; wanted -= 1) {
    values = roundValues(from, to, wanted);
  }
  return values;
}
