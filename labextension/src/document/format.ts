/**
 * Numbers as people read them: the only place in TypeScript where ns and bytes become text.
 * jupyter_serprof/model/units.py is the twin of this file.
 */

export const NOT_APPLICABLE = "–";
export const NOT_SEEN = "n/a";

/** A space that keeps digits and unit on one line. */
const GAP = "\u00a0";
/** Below this a rate is mostly fixed cost, so it says nothing about the bytes. */
export const RATE_FLOOR_BYTES = 64_000;

interface Unit {
  readonly name: string;
  readonly size: number;
}

const TIME_UNITS = unitsOf(["ns", "µs", "ms", "s"]);
const BYTE_UNITS = unitsOf(["B", "kB", "MB", "GB", "TB"]);
const BIT_UNITS = unitsOf(["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);

/** Each a thousand of the one before it. */
function unitsOf(names: readonly string[]): Unit[] {
  return names.map((name, at) => ({ name, size: 1_000 ** at }));
}

/** Three significant digits at most, thousands with a comma, a real minus. */
function significant(value: number): string {
  const wholeDigits = String(Math.trunc(Math.abs(Number(value.toPrecision(3))))).length;
  return fixed(value, Math.max(0, 3 - wholeDigits));
}

/** A number with exactly this many decimals: "1,840.0". */
export function fixed(value: number, decimals: number): string {
  // As in Python an exact half goes to the even digit: a little nearer to zero where that is there.
  const isHalf = Math.abs(value * 2 ** (decimals + 1)) % 2 === 1;
  const isDown = isHalf && Math.floor(Math.abs(value) * 10 ** decimals) % 2 === 0;
  const text = (isDown ? value * (1 - Number.EPSILON) : value).toFixed(decimals);
  // In front of the point only; what is printed as nothing has no sign.
  const grouped = text.replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",");
  return grouped.replace("-", /[1-9]/.test(text) ? "\u2212" : "");
}

/** The largest unit in which the value, once rounded to three digits, is at least 1. */
function unitFor(value: number, units: readonly Unit[]): Unit {
  const rounded = Math.abs(Number(value.toPrecision(3)));
  return units.findLast(({ size }) => rounded >= size) ?? (units[0] as Unit);
}

function withUnit(value: number, units: readonly Unit[]): string {
  const unit = unitFor(value, units);
  return (unit.size === 1 ? fixed(value, 0) : significant(value / unit.size)) + GAP + unit.name;
}

/** "1.84 s", "52.1 ms", "33.0 µs", "250 ns". */
export function duration(ns: number | null | undefined): string {
  return ns == null ? NOT_SEEN : withUnit(ns, TIME_UNITS);
}

/** Decimal units, as rates and `nbytes` are: "91.4 kB", "800 MB", "124 B". */
export function bytes(size: number | null | undefined): string {
  return size == null ? NOT_SEEN : withUnit(size, BYTE_UNITS);
}

export function bytesPerSecond(rate: number | null | undefined): string {
  return rate == null ? NOT_SEEN : `${withUnit(rate, BYTE_UNITS)}/s`;
}

/** A link as its makers name it: "1 Gbit/s", "2.5 Gbit/s". */
export function link(bytesPerS: number): string {
  return withUnit(bytesPerS * 8, BIT_UNITS).replace(/\.0+(?=\D)|(?<=\.\d*[1-9])0+(?=\D)/, "");
}

/** Bytes over busy time, in bytes per second; null where a rate would say nothing. */
export function rateOf(sizeBytes: number | null, busyNs: number): number | null {
  return sizeBytes === null || sizeBytes < RATE_FLOOR_BYTES || busyNs <= 0
    ? null
    : (sizeBytes / busyNs) * 1e9;
}

export function count(value: number | null | undefined): string {
  return value == null ? NOT_SEEN : fixed(value, Number.isInteger(value) ? 0 : 1);
}

/** A share of 0..1 as "18.5 %"; in sentences with none: the tenths rounded, but not to 100. */
export function percent(share: number | null | undefined, digits = 1): string {
  if (share == null) {
    return NOT_SEEN;
  }
  const tenths = Math.floor(share * 1000 + 0.5);
  const decimals = tenths >= 995 && tenths < 1000 ? 1 : digits;
  return `${fixed(decimals > 0 ? tenths / 10 : Math.floor((tenths + 5) / 10), decimals) + GAP}%`;
}

/** "3.2×", with one decimal below 100. */
export function ratio(value: number): string {
  return `${fixed(value, Math.abs(value) < 99.95 ? 1 : 0)}×`;
}

/** "21 Nov 2026 08:00 UTC"; the text itself when it is no date. */
export function moment(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) {
    return iso;
  }
  const parts = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" } as const;
  return `${date.toLocaleDateString("en-GB", parts)} ${date.toISOString().slice(11, 16)} UTC`;
}

/** The one unit and the decimals of a column that adds up to `totalNs`. */
export interface ColumnScale {
  readonly unit: string;
  readonly unitNs: number;
  readonly decimals: number;
}

export function columnScale(totalNs: number): ColumnScale {
  // The unit in which sentences tell it, with a fourth digit for small rows: 1.840 s.
  const unit = unitFor(totalNs, TIME_UNITS);
  const whole = String(Math.trunc(Number((totalNs / unit.size).toPrecision(3)))).length;
  const decimals = unit.size === 1 ? 0 : 4 - Math.min(3, whole);
  return { unit: unit.name, unitNs: unit.size, decimals };
}

/**
 * Print a column so that the printed numbers add up to the printed total (largest remainders
 * first); none moves by a whole unit of its last digit. A measured zero stays "0".
 */
export function column(values: readonly number[], total: number, scale: ColumnScale): string[] {
  const parts = columnDigits(values, lastDigits(total, scale), scale);
  return parts.map((part, at) => digitsText(values[at] as number, part, scale));
}

export function digitsText(value: number, digits: number, { decimals }: ColumnScale): string {
  return value === 0 ? "0" : fixed(digits / 10 ** decimals, decimals);
}

/** Rounded as `fixed` does it, which goes by the binary number: 60.425 is 60.42. */
export function lastDigits(value: number, { decimals, unitNs }: ColumnScale): number {
  return Math.round(Number(fixed(value / unitNs, decimals).replaceAll(",", "")) * 10 ** decimals);
}

/** How many of the last digit each number of a column gets, `whole` together. */
export function columnDigits(
  values: readonly number[],
  whole: number,
  { decimals, unitNs }: ColumnScale,
): number[] {
  const scaled = values.map((value) => (value * 10 ** decimals) / unitNs);
  const parts = scaled.map(Math.floor);
  const missing = whole - parts.reduce((sum, part) => sum + part, 0);
  const remainder = (index: number): number => (scaled[index] as number) - (parts[index] as number);
  const byRemainder = [...parts.keys()].sort((a, b) => remainder(b) - remainder(a));
  for (const index of byRemainder.slice(0, Math.max(0, missing))) {
    parts[index] = (parts[index] as number) + 1;
  }
  return parts;
}

/** "97 %"; below one percent with a decimal, so that little is not printed as nothing. */
export function ofMemcpy(share: number): string {
  return percent(share, share < 0.00995 ? 1 : 0);
}
