/** Tables that a document brings along: facts without a place on the time axis. */

import type { DrawnTrace, Scalar, Table, TableColumn } from "../document/document";
import * as format from "../document/format";
import type { Host } from "../document/host";
import { element } from "../kit/dom";
import { grid } from "../kit/grid";
import type { GridColumn } from "../kit/tabular";
import { evidence } from "./evidence";
import type { Part, Stage } from "./part";

type Line = readonly Scalar[];

const NUMBERS = ["count", "bytes", "ns", "ratio"];
/** A longer title makes no name for a view. */
const LONGEST_NAME = 24;

export function tablesName(tables: readonly Table[]): string {
  const title = tables.length === 1 ? tables[0]?.title : "";
  return title && title.length <= LONGEST_NAME ? title : "Details";
}

export function tablesView(trace: DrawnTrace, stage: Stage): Part {
  return { node: element("section", "jsp-table-view", ...documentTables(trace, stage.host)) };
}

export function documentTables(trace: DrawnTrace, host: Host): HTMLElement[] {
  return (trace.tables ?? []).map((table) => {
    const columns = table.columns.map(gridColumn);
    const title = element("p", "jsp-at-title", element("strong", "", table.title));
    const note = table.note ? element("p", "jsp-note", String(table.note)) : null;
    return element(
      "section",
      "jsp-own-table",
      title,
      note,
      grid(table.title, columns, table.rows, host),
    );
  });
}

function gridColumn({ key, title, unit = "" }: TableColumn, at: number): GridColumn<Line> {
  const isNumber = NUMBERS.includes(unit);
  return {
    title,
    key: String(key ?? title),
    value: (row) => sortable(row[at]),
    text: (row) =>
      row[at] == null && !isNumber ? format.NOT_APPLICABLE : cellText(row[at], `_${unit}`),
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
