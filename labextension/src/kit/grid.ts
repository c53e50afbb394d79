/** A sortable table with its copies as Markdown and CSV; long ones grow on demand. */

import { count, duration, NOT_APPLICABLE } from "../document/format";
import type { Host } from "../document/host";
import { copyButton } from "./clip";
import { button, element, having, heading } from "./dom";

const PAGE = 200;

export function grid<Row>(
  caption: string,
  columns: readonly GridColumn<Row>[],
  rows: readonly Row[],
  host: Host,
): HTMLElement {
  let shown: readonly Row[] = rows;
  let most = PAGE;
  let sorted: { at: number; isDescending: boolean } | null = null;
  const body = element("tbody", "");
  const more = button("jsp-button", () => {
    most += PAGE;
    fill();
  });
  const heads = columns.map(({ isNumber, title }, at) => {
    const sort = button("jsp-sort", () => sortBy(at), title);
    return having(heading("col", classOf(isNumber), sort), { "aria-sort": "none" });
  });

  const fill = (): void => {
    body.replaceChildren(...shown.slice(0, most).map((row) => lineOf(columns, row)));
    more.hidden = shown.length <= most;
    more.textContent = `Show more (${count(shown.length - most)} rows left)`;
  };
  const sortBy = (at: number): void => {
    const column = columns[at] as GridColumn<Row>;
    const isDescending = sorted?.at === at ? !sorted.isDescending : column.isNumber === true;
    sorted = { at, isDescending };
    shown = sortedRows(rows, column, isDescending);
    heads.forEach((head, each) => {
      const order = isDescending ? "descending" : "ascending";
      head.setAttribute("aria-sort", each === at ? order : "none");
    });
    fill();
  };
  fill();

  const tools = element(
    "p",
    "jsp-tools",
    copyButton(host, "Copy as Markdown", () => markdown(columns, shown)),
    copyButton(host, "Copy as CSV", () => csv(columns, shown)),
  );
  const table = element(
    "table",
    "jsp-table jsp-grid-table",
    element("caption", "jsp-hidden", caption),
    element("thead", "", element("tr", "", ...heads)),
    body,
  );
  const region = { tabindex: 0, role: "region", "aria-label": caption };
  return element("div", "", tools, having(element("div", "jsp-scroll", table), region), more);
}

function classOf(isNumber = false): string {
  return isNumber ? "jsp-number" : "jsp-stage";
}

function lineOf<Row>(columns: readonly GridColumn<Row>[], row: Row): HTMLElement {
  const cells = columns.map(({ isNumber, text }, at) =>
    at === 0 ? heading("row", "jsp-stage", text(row)) : element("td", classOf(isNumber), text(row)),
  );
  return element("tr", "", ...cells);
}

export function wordColumn<Row>(
  title: string,
  key: string,
  value: (row: Row) => string,
): GridColumn<Row> {
  return { title, key, value, text: value };
}

/** Numbers that nobody knows are printed as `unknown`. */
export function numberColumn<Row>(
  title: string,
  key: string,
  value: (row: Row) => number | null,
  print: (value: number) => string = duration,
  unknown = NOT_APPLICABLE,
): GridColumn<Row> {
  const text = (row: Row): string => {
    const known = value(row);
    return known === null ? unknown : print(known);
  };
  return { title, key, value, text, isNumber: true };
}

/** A table as data: sorted, and as Markdown or CSV. */

export interface GridColumn<Row> {
  readonly title: string;
  /** What is printed. */
  text(row: Row): string;
  /** What it is sorted by, and what CSV gets; null is unknown and comes last. */
  value(row: Row): number | string | null;
  readonly isNumber?: boolean;
  /** The head in CSV: the unit ends the name. */
  readonly key: string;
}

export function sortedRows<Row>(
  rows: readonly Row[],
  column: GridColumn<Row>,
  isDescending: boolean,
): Row[] {
  const sign = isDescending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (x === null || y === null) {
      return x === y ? 0 : x === null ? 1 : -1;
    }
    return sign * (typeof x === "number" && typeof y === "number" ? x - y : compare(x, y));
  });
}

function compare(x: number | string, y: number | string): number {
  return String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0;
}

export function markdown<Row>(columns: readonly GridColumn<Row>[], rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(markdownCell).join(" | ")} |`;
  const rule = `| ${columns.map((column) => (column.isNumber ? "---:" : "---")).join(" | ")} |`;
  return [
    line(columns.map((column) => column.title)),
    rule,
    ...rows.map((row) => line(columns.map((column) => column.text(row)))),
    "",
  ].join("\n");
}

function markdownCell(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/g, "\\$&").replaceAll(/\s+/g, " ");
}

export function csv<Row>(columns: readonly GridColumn<Row>[], rows: readonly Row[]): string {
  const line = (cells: readonly (number | string | null)[]): string => cells.map(csvCell).join(",");
  return [
    line(columns.map((column) => column.key)),
    ...rows.map((row) => line(columns.map((column) => column.value(row)))),
    "",
  ].join("\r\n");
}

function csvCell(value: number | string | null): string {
  if (value === null || typeof value === "number") {
    return value === null ? "" : String(value);
  }
  // A spreadsheet would run a text that begins like a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
