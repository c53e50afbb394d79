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
