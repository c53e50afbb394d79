/** The waterfall: rows in the order of the road; they add up to the wall time. */

import { childrenOf } from "../core/children";
import type { DrawnTrace, Row, Stage } from "../core/document";
import { element, titled } from "../core/dom";
import * as format from "../core/format";
import { familyOf } from "../core/theme";
import { columnsOf } from "./columns";
import { details } from "./details";
import { legendEntry } from "./legend";
import { classOf, line, type Scene } from "./line";
import { chip, segment, swatch } from "./marks";
import { openable } from "./openable";
import type { Part, Stage as Shared } from "./part";
import { axis, gapPlot, guideOf, rowPlot } from "./plot";

export function waterfall(trace: DrawnTrace, shared: Pick<Shared, "columnsOf">): Part {
  const scene: Scene = { trace, columns: columnsOf(trace), guide: guideOf(trace), plots: [] };
  const lines = trace.waterfall.rows.map((row, position) => stageRow(scene, row, position));
  const node = element(
    "section",
    "jsp-waterfall",
    lines.length > 0
      ? summaryBar(trace)
      : element("p", "jsp-note", "No stage was recorded: nothing that is watched took any time."),
    table(scene, lines),
    legend(trace),
    details(trace),
  );
  let children: Promise<ReturnType<typeof childrenOf>> | null = null;
  trace.waterfall.rows.forEach((row, position) => {
    const line = lines[position] as HTMLTableRowElement;
    openable(scene, line, stageOf(trace, row), async () => {
      children ??= shared.columnsOf(trace).then((columns) => childrenOf(trace, columns));
      return (await children).get(row.stage) ?? [];
    });
  });
  return {
    node,
    paint: () => {
      for (const plot of scene.plots) {
        plot.placeLabel();
      }
    },
  };
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

function table(scene: Scene, lines: readonly HTMLTableRowElement[]): HTMLElement {
  const { trace, columns } = scene;
  const owned = trace.waterfall.rows.map((row) => row.self_ns);
  const biggest = Math.max(...owned);
  lines.forEach((line, position) => {
    line.classList.toggle("jsp-biggest", owned[position] === biggest);
  });
  return element(
    "table",
    "jsp-table",
    element("caption", "jsp-hidden", `Stages of ${trace.name}`),
    headRow(scene),
    element("tbody", "", ...lines, restRow(scene)),
    element(
      "tfoot",
      "",
      line("Wall time", null, columns, (column) => column.total),
    ),
  );
}

function headRow({ trace, columns, guide }: Scene): HTMLElement {
  const numbers = columns.map((column) => {
    const unit = column.unit === "" ? [] : [element("br", ""), column.unit];
    const cell = element("th", classOf(column), column.title, ...unit);
    cell.scope = "col";
    return cell;
  });
  const stage = element("th", "jsp-stage", "Stage");
  stage.scope = "col";
  const plot = element("th", "jsp-plot-head", axis(trace.wall_ns, guide));
  return element(
    "thead",
    "",
    element(
      "tr",
      "",
      stage,
      element("th", "jsp-lane", element("span", "jsp-hidden", "Lane")),
      plot,
      ...numbers,
    ),
  );
}

function stageRow(scene: Scene, row: Row, position: number): HTMLTableRowElement {
  const { trace, columns, guide } = scene;
  const stage = stageOf(trace, row);
  const times = row.count > 1 ? element("span", "jsp-count", `×${format.count(row.count)}`) : null;
  const lane = trace.lanes[row.lane];
  const plot = rowPlot(trace, row, stage, guide);
  scene.plots.push(plot);
  const name = element("span", "jsp-stage-name", stage.title, times);
  const node = line([swatch(familyOf(stage.family)), name], plot.node, columns, (column) =>
    column.text(row, position),
  );
  if (lane !== undefined) {
    const error = lane.clock_error_ns ? `, clock ±${format.duration(lane.clock_error_ns)}` : "";
    const place = titled(chip(String(lane.kind || lane.key)), `${lane.key}${error}`);
    node.querySelector(".jsp-lane")?.append(place);
  }
  return node;
}

function restRow({ trace, columns, guide }: Scene): HTMLElement {
  const name = element("span", "jsp-stage-name", "Unaccounted");
  const node = line(
    [swatch("unaccounted"), name],
    gapPlot(trace, guide),
    columns,
    (column) => column.rest,
  );
  return titled(node, "wall time that no stage explains; it is never spread over the others");
}

function legend(trace: DrawnTrace): HTMLElement {
  const hasWaits = trace.waterfall.rows.some((row) => stageOf(trace, row).waits === true);
  return element(
    "p",
    "jsp-legend",
    legendEntry("jsp-execute jsp-partial jsp-half", "height: its part of that time"),
    hasWaits ? legendEntry("jsp-waits", "wait") : null,
    legendEntry("jsp-unaccounted", "unaccounted"),
    element("span", "", "self adds up to the wall time; busy is the work done, also in parallel"),
    element("span", "jsp-legend-end", `${format.NOT_APPLICABLE} does not apply, n/a not seen`),
  );
}
