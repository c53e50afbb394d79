/** Sort a million spans by time without a comparator: a radix sort over their start. */

const DIGIT_BITS = 16;
const BUCKETS = 1 << DIGIT_BITS;
const WORD = 2 ** 32;

/** Indices of `values` (whole numbers) in ascending order; equal values keep their order. */
export function ascending(values: Float64Array): Int32Array {
  let order = new Int32Array(values.length);
  for (let at = 0; at < values.length; at += 1) {
    order[at] = at;
  }
  if (isSorted(values)) {
    return order;
  }
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
  // Two words of 32 bits: digits by shifting are much faster than by division.
  const low = new Uint32Array(values.length);
  const high = new Uint32Array(values.length);
  for (let at = 0; at < values.length; at += 1) {
    const offset = Math.floor((values[at] as number) - least);
    high[at] = offset / WORD;
    low[at] = offset - (high[at] as number) * WORD;
  }
  let spare = new Int32Array(values.length);
  for (let bit = 0; 2 ** bit <= most - least; bit += DIGIT_BITS) {
    pass(bit < 32 ? low : high, bit % 32, order, spare);
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

function pass(words: Uint32Array, shift: number, from: Int32Array, to: Int32Array): void {
  const places = new Int32Array(BUCKETS + 1);
  const mask = BUCKETS - 1;
  for (let at = 0; at < words.length; at += 1) {
    const next = (((words[at] as number) >>> shift) & mask) + 1;
    places[next] = (places[next] as number) + 1;
  }
  for (let at = 1; at <= BUCKETS; at += 1) {
    places[at] = (places[at] as number) + (places[at - 1] as number);
  }
  for (let at = 0; at < from.length; at += 1) {
    const index = from[at] as number;
    const bucket = ((words[index] as number) >>> shift) & mask;
    const place = places[bucket] as number;
    to[place] = index;
    places[bucket] = place + 1;
  }
}

/** What has the same key together, in the order in which the keys come. */
export function grouped<Each, Key>(
  list: readonly Each[],
  keyOf: (each: Each) => Key,
): Map<Key, Each[]> {
  const groups = new Map<Key, Each[]>();
  for (const each of list) {
    const group = groups.get(keyOf(each)) ?? [];
    group.push(each);
    groups.set(keyOf(each), group);
  }
  return groups;
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
