/** Print a value by the unit that ends its name. */

import type { Scalar } from "../document/document";
import * as format from "../document/format";

const UNIT_ENDINGS: readonly [string, (value: number) => string][] = [
  ["_bytes_per_s", format.bytesPerSecond],
  ["_bytes", format.bytes],
  ["_ns", format.duration],
  ["_share", (value) => format.percent(value)],
  ["_ratio", format.ratio],
];

/** The unit ends the name of a piece of evidence; it says how to print it. */
export function evidence(key: string, value: Scalar): string {
  if (value == null) {
    return format.NOT_SEEN;
  }
  if (typeof value !== "number") {
    return String(value);
  }
  const ending = UNIT_ENDINGS.find(([end]) => key.endsWith(end) || key === end.slice(1));
  return ending === undefined ? format.count(value) : ending[1](value);
}

export function labelOf(key: string): string {
  const ending = UNIT_ENDINGS.find(([end]) => key.endsWith(end));
  const words = ending === undefined ? key : key.slice(0, key.length - ending[0].length);
  return words.replaceAll("_", " ");
}
