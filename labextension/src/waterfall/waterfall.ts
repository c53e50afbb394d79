/** The waterfall: rows in the order of the road; they add up to the wall time. */

import type { DrawnTrace } from "../document/document";
import * as format from "../document/format";
import { legendEntry } from "../frame/legend";
import { measuredOf } from "../frame/measured";
import type { Part, Stage as Shared } from "../frame/part";
import { element, having, heading, titled } from "../kit/dom";
import { fitColumns } from "../kit/fit";
import { segment, swatch } from "../kit/marks";
import { childrenOf } from "./children";
import { columnsOf } from "./columns";
import { classOf, line, type Scene } from "./line";
import { groupAt, type Node, outlineOf, ownOf, stagesIn } from "./outline";
import { pathOver } from "./path";
import { axis, gapPlot, guideOf, kindOf } from "./plot";
import {
  type ChildrenOf,
  type Entry,
  entryOf,
  everyEntry,
  ghostRows,
  showRows,
  stageOf,
} from "./rows";

export function waterfall(trace: DrawnTrace, shared: Shared, hasBar = true): Part {
  const refresh = (): void => {
    showRows(entries);
    fitColumns(node);
    for (const plot of scene.plots) {
      plot.placeLabel();
    }
    path.paint(entries);
  };
  const [columns, guide] = [columnsOf(trace), guideOf(trace)];
  const scene: Scene = { trace, columns, guide, plots: [], refresh };
  const nodes = outlineOf(trace);
  const entries = nodes.map((node) => entryOf(scene, node, 0, childrenIn(trace, shared)));
  const path = pathOver(trace);
  const node = element(
    "section",
    "jsp-waterfall",
    hasBar ? summaryBar(trace) : null,
    element("div", "jsp-rows", table(scene, nodes, entries), path.node),
    legend(trace),
  );
  showRows(entries);
  return { node, paint: refresh };
}

/** The spans of a stage by name; read once for each computation, when a row is first opened. */
function childrenIn(trace: DrawnTrace, shared: Pick<Shared, "columnsOf">): ChildrenOf {
  const known = new Map<number | null, Promise<ReturnType<typeof childrenOf>>>();
  return async (row) => {
    const group = row.group ?? null;
    const isMeant = (start: number): boolean => group === null || groupAt(trace, start) === group;
    const found =
      known.get(group) ??
      shared.columnsOf(trace).then((columns) => childrenOf(trace, columns, isMeant));
    known.set(group, found);
    return (await found).get(row.stage) ?? [];
  };
}

export function summaryBar(trace: DrawnTrace): HTMLElement {
  const [nodes, wall] = [outlineOf(trace), trace.wall_ns || 1];
  if (nodes.length === 0) {
    return element("p", "jsp-note", "No stage was recorded: nothing watched took any time.");
  }
  const parts = stagesIn(nodes)
    .filter((node) => ownOf(node) > 0)
    .map((node) => {
      const stage = stageOf(trace, node);
      const share = ownOf(node) / wall;
      const part = segment(kindOf(stage), share, stage.title, format.percent(share));
      return stage.note ? titled(part, `${part.title}. ${stage.note}`) : part;
    });
  const rest = trace.waterfall.unaccounted_ns / wall;
  if (rest > 0) {
    parts.push(segment("jsp-unaccounted", rest, "Unaccounted", format.percent(rest), false));
  }
  return having(element("div", "jsp-summary", ...parts), { "aria-hidden": "true" });
}

function table(scene: Scene, nodes: readonly Node[], entries: readonly Entry[]): HTMLElement {
  const { trace, columns } = scene;
  const biggest = Math.max(...stagesIn(nodes).map(ownOf));
  const all = everyEntry(entries);
  for (const { node, row } of all) {
    row.classList.toggle("jsp-biggest", node.kind !== "group" && ownOf(node) === biggest);
  }
  return element(
    "table",
    "jsp-table",
    element("caption", "jsp-hidden", `Stages of ${trace.name}`),
    headRow(scene),
    element("tbody", "", ...all.flatMap(({ row, ghosts }) => [row, ...ghosts]), restRow(scene)),
    element(
      "tfoot",
      "",
      line("Wall time", null, columns, (column) => column.total),
      ...ghostRows(scene, null, 0, 0),
    ),
  );
}

function headRow({ trace, columns, guide }: Scene): HTMLElement {
  const numbers = columns.map((column) => {
    const unit = column.unit === "" ? [] : [element("br", ""), column.unit];
    return heading("col", classOf(column), column.title, ...unit);
  });
  const stage = heading("col", "jsp-stage", "Stage");
  const lane = element("th", "jsp-lane", element("span", "jsp-hidden", "Lane"));
  const plot = element("th", "jsp-plot-head", axis(trace.wall_ns, guide));
  return element("thead", "", element("tr", "", stage, lane, plot, ...numbers));
}

function restRow(scene: Scene): HTMLElement {
  const name = [swatch("unaccounted"), element("span", "jsp-stage-name", "Unaccounted")];
  const node = line(name, gapPlot(scene), scene.columns, (column) => column.rest);
  return titled(node, "wall time that no stage explains; it is never spread over the others");
}

const MOST_PIXELS = 700;

function legend(trace: DrawnTrace): HTMLElement {
  const { rows } = trace.waterfall;
  const hasWaits = rows.some((row) => trace.stages[row.stage]?.waits === true);
  // Smaller errors are thinner than a pixel of every screen.
  const least = trace.wall_ns / MOST_PIXELS;
  const hasErrors = rows.some((row) => (trace.lanes[row.lane]?.clock_error_ns ?? 0) > least);
  return element(
    "p",
    "jsp-legend",
    (trace.findings ?? []).some((finding) => (measuredOf(finding)?.after_ns ?? 0) > 0)
      ? legendEntry("jsp-ghost-sample", "tried: a measured remedy")
      : null,
    legendEntry("jsp-execute jsp-partial jsp-half", "height: its part of that time"),
    hasWaits ? legendEntry("jsp-waits", "wait") : null,
    rows.length > 1 ? legendEntry("jsp-path", "critical path") : null,
    hasErrors ? legendEntry("jsp-whisker", "clock uncertainty") : null,
    legendEntry("jsp-unaccounted", "unaccounted"),
    element("span", "", "self adds up to the wall time; busy is work, also in parallel"),
    element("span", "jsp-legend-end", `${format.NOT_APPLICABLE} does not apply, n/a not seen`),
  );
}
