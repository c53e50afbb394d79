/** Sort a million spans by time without a comparator: a radix sort over their start. */

const DIGIT_BITS = 12;
const BUCKETS = 1 << DIGIT_BITS;

/** Indices of `values` in ascending order; equal values keep their order. NaN must not occur. */
export function ascending(values: Float64Array): Int32Array {
  let order = Int32Array.from(values.keys());
  if (isSorted(values)) {
    return order;
  }
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  let spare = new Int32Array(values.length);
  for (let unit = 1; unit <= high - low; unit *= BUCKETS) {
    pass(values, low, unit, order, spare);
    [order, spare] = [spare, order];
  }
  return order;
}

function isSorted(values: Float64Array): boolean {
  for (let at = 1; at < values.length; at += 1) {
    if ((values[at] as number) < (values[at - 1] as number)) {
      return false;
    }
  }
  return true;
}

function pass(
  values: Float64Array,
  low: number,
  unit: number,
  from: Int32Array,
  to: Int32Array,
): void {
  const digit = (index: number): number =>
    Math.floor(((values[index] as number) - low) / unit) % BUCKETS;
  const places = new Int32Array(BUCKETS + 1);
  for (const index of from) {
    const next = digit(index) + 1;
    places[next] = (places[next] as number) + 1;
  }
  for (let at = 1; at <= BUCKETS; at += 1) {
    places[at] = (places[at] as number) + (places[at - 1] as number);
  }
  for (const index of from) {
    const bucket = digit(index);
    const place = places[bucket] as number;
    to[place] = index;
    places[bucket] = place + 1;
  }
}

/** First position in [from, to) whose value is above the bound; `values` ascend there. */
export function firstAbove(values: Float64Array, bound: number, from: number, to: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] as number) > bound) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}
