/** Details: facts behind the picture, tables that a document brings along, numbers of findings. */

import type { DrawnTrace, Scalar, SerprofDocument, TableColumn } from "../document/document";
import * as format from "../document/format";
import type { Host } from "../document/host";
import { coded, element, folded, heading } from "../kit/dom";
import { type GridColumn, grid } from "../kit/grid";
import { evidence, numbersOf, saidBy } from "./findings";
import { sentencesOf } from "./head";

type Line = readonly Scalar[];

const NUMBERS = ["count", "bytes", "ns", "ratio"];

export function detailsOf(doc: SerprofDocument, host: Host): HTMLElement[] {
  const notes = sentencesOf(doc).map((sentence) =>
    element("p", "jsp-note", ...coded(String(sentence))),
  );
  const own =
    doc.format === "serprof.trace" ? [...documentTables(doc, host), ...spanDetails(doc)] : [];
  const numbers = (doc.findings ?? []).flatMap((finding) => {
    const title = element("p", "jsp-at-title", element("strong", "", finding.title));
    return [numbersOf(finding)].flatMap((list) => (list === null ? [] : [title, list]));
  });
  return [...notes, ...own, ...numbers];
}

export function documentTables(trace: DrawnTrace, host: Host): HTMLElement[] {
  return (trace.tables ?? []).map((table) => {
    const title = element("p", "jsp-at-title", element("strong", "", table.title));
    const note = table.note ? element("p", "jsp-note", String(table.note)) : null;
    const own = grid(table.title, table.columns.map(gridColumn), table.rows, host);
    return element("section", "jsp-own-table", title, note, own);
  });
}

function gridColumn({ key, title, unit = "" }: TableColumn, at: number): GridColumn<Line> {
  const isNumber = NUMBERS.includes(unit);
  const ending = `_${unit}`.replace("ratio", "share");
  return {
    title,
    key: String(key ?? title),
    value: (row) => sortable(row[at]),
    text: (row) =>
      row[at] == null && !isNumber ? format.NOT_APPLICABLE : cellText(row[at], ending),
    isNumber,
  };
}

/** Rows may be shorter than the head, and hold what no schema allows. */
function sortable(value: unknown): number | string | null {
  return value == null ? null : typeof value === "number" ? value : cellText(value, "");
}

function cellText(value: unknown, ending: string): string {
  return typeof value === "boolean" ? (value ? "yes" : "no") : evidence(ending, value as Scalar);
}

// What single spans knew about buffers, copies and page faults.
const MOST_SPANS = 200;

export function spanDetails(trace: DrawnTrace): HTMLElement[] {
  const entries = Object.entries(trace.details ?? {});
  const title = `Buffers, copies and page faults of ${format.count(entries.length)} spans`;
  return entries.length === 0 ? [] : [folded(title, (node) => node.append(list(trace, entries)))];
}

function list(trace: DrawnTrace, entries: readonly [string, object][]): HTMLElement {
  const rows = entries.slice(0, MOST_SPANS).map(([index, facts]) => {
    const texts = saidBy(facts).map((words) => element("span", "", words.join(" ")));
    const name = heading("row", "jsp-stage", nameOf(trace, Number(index)));
    return element("tr", "", name, element("td", "jsp-facts", ...texts));
  });
  const hidden = entries.length - rows.length;
  const rest = hidden > 0 ? element("p", "jsp-note", `and ${format.count(hidden)} more`) : null;
  const table = element("table", "jsp-details", element("tbody", "", ...rows));
  return element("div", "jsp-finding-body", table, rest);
}

/** Stage and name of a span; columns of long traces are packed, then its index stands for it. */
function nameOf(trace: DrawnTrace, index: number): string {
  const { stage, name } = trace.spans;
  const stageIndex = Array.isArray(stage) ? stage[index] : null;
  const nameIndex = Array.isArray(name) ? name[index] : null;
  const words = [
    stageIndex == null ? null : trace.stages[stageIndex]?.title,
    nameIndex == null ? null : trace.strings[nameIndex],
  ].filter((word) => typeof word === "string" && word !== "");
  return words.length === 0 ? `span ${index}` : words.join(": ");
}
