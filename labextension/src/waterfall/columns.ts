/** The numbers of a waterfall: one entry for each column, with its text for every kind of row. */

import type { DrawnTrace, Row } from "../document/document";
import * as format from "../document/format";
import { carriesBytes, familyOf } from "../kit/theme";
import { type Node, outlineOf, ownOf, type RowNode, wholeOf } from "./outline";

export interface Column {
  readonly title: string;
  /** Below the title; empty where each number carries its own unit. */
  readonly unit: string;
  /** Narrow outputs drop columns by this name; those without it always stay. */
  readonly name: string;
  text(row: Row, position: number): string;
  /** The same for several rows together. */
  sum(rows: readonly RowNode[]): string;
  readonly rest: string;
  readonly total: string;
}

const { NOT_APPLICABLE, NOT_SEEN } = format;

export function columnsOf(trace: DrawnTrace): Column[] {
  const scale = format.columnScale(trace.wall_ns);
  const busyIn = (rows: readonly Row[]): string => {
    const own = rows.filter(({ stage }) => trace.stages[stage]?.waits !== true);
    const ns = own.reduce((sum, { busy_ns }) => sum + busy_ns, 0);
    return ns > 0 ? inUnit(trace.wall_ns, ns) : own.length > 0 ? "0" : NOT_APPLICABLE;
  };
  const busySum = (nodes: readonly RowNode[]): string => busyIn(nodes.map(({ row }) => row));
  const perRow = { unit: "", rest: NOT_APPLICABLE, total: "", sum: () => NOT_APPLICABLE };
  const faults = (row: Row): string =>
    row.minor_faults == null ? unknownIn(trace, row) : format.count(row.minor_faults);
  const each = (text: (row: Row) => string) => {
    const sum = (rows: readonly RowNode[]): string => text(wholeOf(rows));
    return { ...perRow, text, sum };
  };
  return [
    adding(trace, scale),
    shares(trace),
    {
      ...perRow,
      title: "busy",
      unit: scale.unit,
      name: "busy",
      text: (row) => busyIn([row]),
      sum: busySum,
    },
    { ...each((row) => sizeText(trace, row)), title: "bytes", name: "bytes" },
    { ...perRow, title: "rate", name: "rate", text: (row) => rateText(trace, row) },
    { ...perRow, title: "of memcpy", name: "memcpy", text: (row) => memcpyText(trace, row) },
    { ...each(faults), title: "page faults", name: "faults" },
  ];
}

/** In the unit of a waterfall. */
export function inUnit(wallNs: number, ns: number): string {
  const scale = format.columnScale(wallNs);
  return format.fixed(ns / scale.unitNs, scale.decimals);
}

/** What stands beside a bar: the number of its column. */
export function barText({ columns }: { columns: readonly Column[] }, text: string): string {
  return `${text}\u00a0${columns[0]?.unit}`;
}

/**
 * A column whose printed numbers, the unaccounted one included, add up to the printed total. They
 * are handed down the outline, as `_digits` of jupyter_serprof/views/waterfall/table.py does it.
 */
function adding(trace: DrawnTrace, scale: format.ColumnScale): Column {
  const { rows, unaccounted_ns } = trace.waterfall;
  const digits = rows.map(() => 0);
  const handDown = (whole: number, nodes: readonly Node[], ...others: number[]): number => {
    const owned = [...nodes.map(ownOf), ...others];
    const given = format.columnDigits(owned, whole, scale);
    for (const [at, node] of nodes.entries()) {
      if (node.kind === "row") {
        digits[node.position] = given[at] as number;
      } else {
        handDown(given[at] as number, node.nodes);
      }
    }
    return given.at(-1) as number;
  };
  const whole = format.lastDigits(trace.wall_ns, scale);
  const rest = handDown(whole, outlineOf(trace), unaccounted_ns);
  const digitsOf = (position: number): number => digits[position] as number;
  return {
    title: "self",
    unit: scale.unit,
    name: "",
    text: (row, position) => format.digitsText(row.self_ns, digitsOf(position), scale),
    // The sum of what is printed, so that a reader who adds it up finds the same.
    sum: (members) => {
      const own = members.reduce((sum, { position }) => sum + digitsOf(position), 0);
      return format.digitsText(Math.max(...members.map(({ row }) => row.self_ns)), own, scale);
    },
    rest: format.digitsText(unaccounted_ns, rest, scale),
    total: inUnit(trace.wall_ns, trace.wall_ns),
  };
}

/** Each share is rounded alone, as in headline, facts and findings. */
function shares(trace: DrawnTrace): Column {
  const text = (ns: number): string =>
    ns === 0 ? "0" : format.percent(ns / trace.wall_ns).slice(0, -2);
  return {
    title: "share",
    unit: "%",
    name: "share",
    text: (row) => text(row.self_ns),
    sum: (members) => text(members.reduce((sum, { row }) => sum + row.self_ns, 0)),
    rest: text(trace.waterfall.unaccounted_ns),
    total: text(trace.wall_ns),
  };
}

/** What an unknown size means: not seen where bytes pass, else it does not apply. */
function unknownIn(trace: DrawnTrace, row: Row): string {
  return carriesBytes(familyOf(trace.stages[row.stage]?.family)) ? NOT_SEEN : NOT_APPLICABLE;
}

function sizeText(trace: DrawnTrace, row: Row): string {
  return row.size_bytes === null ? unknownIn(trace, row) : format.bytes(row.size_bytes);
}

function rateOf({ copied_bytes: copied, size_bytes: size, busy_ns: busy }: Row): number | null {
  return 2 * (copied ?? 0) < (size ?? 0) ? null : format.rateOf(copied ?? 0, busy);
}

function rateText(trace: DrawnTrace, row: Row): string {
  const rate = rateOf(row);
  if (rate !== null) {
    return format.bytesPerSecond(rate);
  }
  if (row.size_bytes === null || row.size_bytes < format.RATE_FLOOR_BYTES) {
    return NOT_APPLICABLE;
  }
  return row.copied_bytes == null
    ? unknownIn(trace, row)
    : row.copied_bytes === 0
      ? "zero-copy"
      : NOT_APPLICABLE;
}

function memcpyText(trace: DrawnTrace, row: Row): string {
  const rate = rateOf(row);
  const memcpy = trace.limits?.memcpy_bytes_per_s;
  return rate === null || !memcpy ? NOT_APPLICABLE : format.ofMemcpy(rate / memcpy);
}
