/** Numbers as people read them. Inside are ns and bytes; only this file turns them into text. */

export const NOT_APPLICABLE = "–";
export const NOT_SEEN = "n/a";

/** A space that keeps digits and unit on one line. */
const GAP = "\u00a0";
const MINUS = "\u2212";
/** Below this a rate is mostly fixed cost, so it says nothing about the bytes. */
const RATE_FLOOR_BYTES = 64_000;

interface Unit {
  readonly name: string;
  readonly size: number;
}

const TIME_UNITS: readonly Unit[] = [
  { name: "ns", size: 1 },
  { name: "µs", size: 1e3 },
  { name: "ms", size: 1e6 },
  { name: "s", size: 1e9 },
];
const BYTE_UNITS: readonly Unit[] = [
  { name: "B", size: 1 },
  { name: "kB", size: 1e3 },
  { name: "MB", size: 1e6 },
  { name: "GB", size: 1e9 },
  { name: "TB", size: 1e12 },
];

/** Three significant digits at most, thousands with a comma, a real minus. */
function significant(value: number, digits = 3): string {
  const magnitude = Math.abs(value);
  const integerDigits = magnitude < 1 ? 1 : Math.floor(Math.log10(magnitude)) + 1;
  return fixed(value, Math.max(0, digits - integerDigits));
}

/** A number with exactly this many decimals: "1,840.0". */
export function fixed(value: number, decimals: number): string {
  const text = Math.abs(value).toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/** The largest unit in which the value, once rounded to three digits, is at least 1. */
function unitFor(value: number, units: readonly Unit[]): Unit {
  const rounded = Math.abs(Number(value.toPrecision(3)));
  let chosen = units[0] as Unit;
  for (const unit of units) {
    if (rounded >= unit.size) {
      chosen = unit;
    }
  }
  return chosen;
}

function withUnit(value: number, units: readonly Unit[]): string {
  const unit = unitFor(value, units);
  const isWhole = unit.size === 1 || value === 0;
  return (isWhole ? fixed(value, 0) : significant(value / unit.size)) + GAP + unit.name;
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

/** Bytes over busy time, in bytes per second; null where a rate would say nothing. */
export function rateOf(sizeBytes: number | null, busyNs: number): number | null {
  return sizeBytes === null || sizeBytes < RATE_FLOOR_BYTES || busyNs <= 0
    ? null
    : (sizeBytes / busyNs) * 1e9;
}

export function count(value: number | null | undefined): string {
  return value == null ? NOT_SEEN : fixed(value, Number.isInteger(value) ? 0 : 1);
}

/** A share of 0..1 as "18.5 %"; in sentences with no decimals. */
export function percent(share: number | null | undefined, decimals = 1): string {
  return share == null ? NOT_SEEN : `${fixed(share * 100, decimals) + GAP}%`;
}

/** "3.2×", with one decimal below 100. */
export function ratio(value: number): string {
  return `${fixed(value, Math.abs(value) < 100 ? 1 : 0)}×`;
}

/** "21 Nov 2026 08:00 UTC"; the text itself when it is no date. */
export function moment(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) {
    return iso;
  }
  const day = date.toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
    timeZone: "UTC",
  });
  return `${day} ${date.toISOString().slice(11, 16)} UTC`;
}

/** The one unit and the decimals of a column that adds up to `totalNs`. */
export interface ColumnScale {
  readonly unit: string;
  readonly unitNs: number;
  readonly decimals: number;
}

export function columnScale(totalNs: number): ColumnScale {
  // Ten of a unit before it is used: 1,840.0 ms tells more about small rows than 1.84 s.
  const unit = unitFor(totalNs / 10, TIME_UNITS);
  const total = totalNs / unit.size;
  const decimals = unit.size === 1 ? 0 : total >= 100 ? 1 : 2;
  return { unit: unit.name, unitNs: unit.size, decimals };
}

/**
 * Round a column so that what is printed adds up to the printed total (largest remainders first).
 * No entry moves by more than one unit of the last digit.
 */
export function roundToSum(values: readonly number[], decimals: number): number[] {
  const factor = 10 ** decimals;
  const scaled = values.map((value) => value * factor);
  const total = Math.round(scaled.reduce((sum, value) => sum + value, 0));
  const floors = scaled.map(Math.floor);
  const missing = total - floors.reduce((sum, value) => sum + value, 0);
  const byRemainder = scaled
    .map((value, index) => ({ index, remainder: value - Math.floor(value) }))
    .sort((a, b) => b.remainder - a.remainder || a.index - b.index);
  for (const { index } of byRemainder.slice(0, missing)) {
    floors[index] = (floors[index] as number) + 1;
  }
  return floors.map((value) => value / factor);
}
