/** Round values for a linear axis. */

import { ticks as roundValues } from "d3-array";

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
