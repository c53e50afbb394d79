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
  if (!(end > 0)) {
    return [0];
  }
  const step = roundStep(end, most);
  const values: number[] = [];
  for (let index = 0; index * step <= end; index += 1) {
    values.push(index * step);
  }
  return values;
}
