/** One row of the waterfall: name, lane, time, numbers. */

import type { DrawnTrace } from "../document/document";
import * as format from "../document/format";
import { type Child, element, heading } from "../kit/dom";
import type { Column } from "./columns";
import type { Guide, Plot } from "./plot";

/** What the rows of one waterfall share. */
export interface Scene {
  readonly trace: DrawnTrace;
  readonly columns: readonly Column[];
  readonly guide: Guide | null;
  readonly plots: Plot[];
  /** Rows were opened or folded: what is drawn across them has to move. */
  refresh(): void;
}

export function classOf(column: Column): string {
  return column.name === "" ? "jsp-number" : `jsp-number jsp-column-${column.name}`;
}

export function line(
  name: string | Child[],
  plot: HTMLElement | null,
  columns: readonly Column[],
  textOf: (column: Column) => string,
): HTMLTableRowElement {
  const header = heading("row", "jsp-stage", ...(typeof name === "string" ? [name] : name));
  const numbers = columns.map((column) => {
    const text = textOf(column);
    const isEmpty = text === format.NOT_APPLICABLE || text === format.NOT_SEEN;
    return element("td", isEmpty ? `${classOf(column)} jsp-muted` : classOf(column), text);
  });
  const [lane, time] = [element("td", "jsp-lane"), element("td", "jsp-plot-cell", plot)];
  return element("tr", "", header, lane, time, ...numbers);
}

/** Rows inside a block stand further right. */
export function indent(row: HTMLElement, depth: number): void {
  row.style.setProperty("--jsp-depth", String(depth));
}
