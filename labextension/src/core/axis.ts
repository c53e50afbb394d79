/** Round values for a linear axis. */

/** A round step (1, 2, 2.5 or 5 times a power of ten) that gives at most `most` ticks up to `end`. */
export function roundStep(end: number, most: number): number {
  const raw = end / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= raw) ?? 10;
  return factor * power;
}

/** Labels stop here (share of the axis), because its end has a label of its own. */
export const LAST_LABEL_SHARE = 0.78;

/** Round values from 0 up to the end. */
export function ticks(end: number, most = 4): number[] {
  return end > 0 ? ticksBetween(0, end, most) : [0];
}

/** Round values of a stretch that need not begin at 0. */
export function ticksBetween(from: number, to: number, most: number): number[] {
  if (!(to > from) || !(most > 0)) {
    return [];
  }
  const step = roundStep(to - from, most);
  const values: number[] = [];
  // By index: a running sum would drift.
  for (let index = Math.ceil(from / step - 1e-9) || 0; index * step <= to; index += 1) {
    values.push(index * step);
  }
  return values;
}
