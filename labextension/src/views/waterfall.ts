/** The waterfall: rows in the order of the road; they add up to the wall time. */

import type { DrawnTrace, Row, Stage } from "../core/document";
import { type Child, element, titled } from "../core/dom";
import * as format from "../core/format";
import { familyOf } from "../core/theme";
import { type Column, columnsOf } from "./columns";
import { details } from "./details";
import { chip, segment, swatch } from "./marks";
import { axis, gapPlot, rowPlot } from "./plot";

export function waterfall(trace: DrawnTrace): HTMLElement {
  return element(
    "section",
    "jsp-waterfall",
    summaryBar(trace),
    table(trace),
    legend(),
    details(trace),
  );
}

function stageOf(trace: DrawnTrace, row: Row): Stage {
  return trace.stages[row.stage] as Stage;
}

function summaryBar(trace: DrawnTrace): HTMLElement {
  const wall = trace.wall_ns || 1;
  const parts = trace.waterfall.rows
    .filter((row) => row.self_ns > 0)
    .map((row) => {
      const { title, family } = stageOf(trace, row);
      const share = row.self_ns / wall;
      return segment(`jsp-${familyOf(family)}`, share, title, format.percent(share));
    });
  const rest = trace.waterfall.unaccounted_ns / wall;
  if (rest > 0) {
    parts.push(segment("jsp-unaccounted", rest, "Unaccounted", format.percent(rest), false));
  }
  const node = element("div", "jsp-summary", ...parts);
  node.setAttribute("aria-hidden", "true");
  return node;
}

function table(trace: DrawnTrace): HTMLElement {
  const columns = columnsOf(trace);
  const { rows } = trace.waterfall;
  const biggest = Math.max(...rows.map((row) => row.self_ns));
  const body = rows.map((row, position) => {
    const line = stageRow(trace, row, columns, position);
    line.classList.toggle("jsp-biggest", row.self_ns === biggest);
    return line;
  });
  return element(
    "table",
    "jsp-table",
    element("caption", "jsp-hidden", `Stages of ${trace.name}`),
    headRow(trace, columns),
    element("tbody", "", ...body, restRow(trace, columns)),
    element(
      "tfoot",
      "",
      line("Wall time", null, columns, (column) => column.total),
    ),
  );
}

function headRow(trace: DrawnTrace, columns: readonly Column[]): HTMLElement {
  const numbers = columns.map((column) => {
    const unit = column.unit === "" ? [] : [element("br", ""), column.unit];
    const cell = element("th", classOf(column), column.title, ...unit);
    cell.scope = "col";
    return cell;
  });
  const stage = element("th", "jsp-stage", "Stage");
  stage.scope = "col";
  const plot = element("th", "jsp-plot-head", axis(trace.wall_ns));
  return element(
    "thead",
    "",
    element("tr", "", stage, element("th", "jsp-lane"), plot, ...numbers),
  );
}

function classOf(column: Column): string {
  return column.name === "" ? "jsp-number" : `jsp-number jsp-column-${column.name}`;
}

function stageRow(
  trace: DrawnTrace,
  row: Row,
  columns: readonly Column[],
  position: number,
): HTMLElement {
  const stage = stageOf(trace, row);
  const times = row.count > 1 ? element("span", "jsp-count", `×${format.count(row.count)}`) : null;
  const lane = trace.lanes[row.lane];
  const node = line(
    [swatch(familyOf(stage.family)), stage.title, times],
    rowPlot(trace, row, stage),
    columns,
    (column) => column.text(row, position),
  );
  if (stage.note) {
    node.title = stage.note;
  }
  if (lane !== undefined) {
    node.querySelector(".jsp-lane")?.append(titled(chip(lane.kind ?? lane.key), lane.key));
  }
  return node;
}

function restRow(trace: DrawnTrace, columns: readonly Column[]): HTMLElement {
  const node = line(
    [swatch("unaccounted"), "Unaccounted"],
    gapPlot(trace),
    columns,
    (column) => column.rest,
  );
  return titled(node, "wall time that no stage explains; it is never spread over the others");
}

function line(
  name: string | Child[],
  plot: HTMLElement | null,
  columns: readonly Column[],
  textOf: (column: Column) => string,
): HTMLTableRowElement {
  const header = element("th", "jsp-stage", ...(typeof name === "string" ? [name] : name));
  header.scope = "row";
  const numbers = columns.map((column) => {
    const text = textOf(column);
    const isEmpty = text === format.NOT_APPLICABLE || text === format.NOT_SEEN;
    return element("td", isEmpty ? `${classOf(column)} jsp-muted` : classOf(column), text);
  });
  return element(
    "tr",
    "",
    header,
    element("td", "jsp-lane"),
    element("td", "jsp-plot-cell", plot),
    ...numbers,
  );
}

function legend(): HTMLElement {
  const entry = (mark: string, text: string) => {
    const sample = element("span", `jsp-sample ${mark}`);
    sample.setAttribute("aria-hidden", "true");
    return element("span", "", sample, text);
  };
  return element(
    "p",
    "jsp-legend",
    entry("jsp-execute", "work, at its true time"),
    entry("jsp-waits", "wait"),
    entry("jsp-unaccounted", "unaccounted"),
    element("span", "", "self adds up to the wall time; busy is the work done, also in parallel"),
    element("span", "jsp-legend-end", `${format.NOT_APPLICABLE} does not apply, n/a not seen`),
  );
}
