/** The Table view: every picture as sortable numbers, the twin for those who do not see it. */

import type { Columns } from "../document/decode";
import {
  type DrawnTrace,
  hasWaterfall,
  known,
  type Point,
  type Row,
  type SweepDocument,
} from "../document/document";
import * as format from "../document/format";
import { radio } from "../kit/controls";
import { element } from "../kit/dom";
import { type GridColumn, grid, numberColumn as number, wordColumn as words } from "../kit/grid";
import { stagesOf } from "../sweep/series";
import { parentOf } from "../waterfall/outline";
import { documentTables } from "./facts";
import type { Part, Stage } from "./part";

export function traceTable(trace: DrawnTrace, stage: Stage): Part {
  const panel = element("div", "");
  const show = (key: string): void => {
    if (key === "stages") {
      panel.replaceChildren(stageGrid(trace, stage));
      return;
    }
    panel.replaceChildren(element("p", "jsp-note", "Reading the spans …"));
    stage.columnsOf(trace).then((columns) => {
      panel.replaceChildren(spanGrid(trace, columns, stage));
    });
  };
  const choices = [
    ...(hasWaterfall(trace) ? [{ key: "stages", title: "Stages" }] : []),
    { key: "spans", title: "Spans" },
  ];
  const first = (choices[0] as (typeof choices)[0]).key;
  const choice = radio("Rows of the table", "jsp-segmented", choices, first, show);
  show(first);
  const own = documentTables(trace, stage.host);
  return { node: element("section", "jsp-table-view", choice.node, panel, ...own) };
}

/** The rows, and null for what none of them owns. */
function stageGrid(trace: DrawnTrace, stage: Stage): HTMLElement {
  const { rows, unaccounted_ns } = trace.waterfall;
  const selfOf = (row: Row | null): number => (row === null ? unaccounted_ns : row.self_ns);
  const groupOf = (row: Row | null): string => text(trace.groups?.[row?.group ?? -1]?.title);
  const partOf = (row: Row | null): string => text(row && parentOf(trace, row.stage)?.title);
  const shareOf = (row: Row | null): number | null =>
    trace.wall_ns > 0 ? selfOf(row) / trace.wall_ns : null;
  const columns: GridColumn<Row | null>[] = [
    words("Stage", "stage", (row) =>
      row === null ? "Unaccounted" : String(trace.stages[row.stage]?.title ?? "Unknown stage"),
    ),
    ...(rows.some(groupOf) ? [words("Computation", "group", groupOf)] : []),
    ...(rows.some(partOf) ? [words("Part of", "part_of", partOf)] : []),
    words("Lane", "lane", (row) => text(trace.lanes[row?.lane ?? -1]?.key)),
    number("starts", "start_ns", (row) => row?.start_ns ?? null),
    number("self", "self_ns", selfOf),
    number("share", "share", shareOf, format.percent),
    number("busy", "busy_ns", (row) =>
      row === null || trace.stages[row.stage]?.waits ? null : row.busy_ns,
    ),
    number("count", "count", (row) => row?.count ?? null, format.count),
    number("bytes", "size_bytes", (row) => row?.size_bytes ?? null, format.bytes),
    number("copied", "copied_bytes", (row) => row?.copied_bytes ?? null, format.bytes),
  ];
  return grid(`Stages of ${trace.name}`, columns, [...rows, null], stage.host);
}

function text(words: unknown): string {
  return String(words ?? "");
}

function spanGrid(trace: DrawnTrace, columns: Columns, stage: Stage): HTMLElement {
  const spans = Array.from({ length: columns.count }, (_, span) => span);
  const heads: GridColumn<number>[] = [
    words("Name", "name", (span) =>
      text(trace.strings[columns.name[span] as number] || `span ${span}`),
    ),
    words("Stage", "stage", (span) => text(trace.stages[columns.stage[span] as number]?.title)),
    words("Lane", "lane", (span) => text(trace.lanes[columns.lane[span] as number]?.key)),
    number("starts", "start_ns", (span) => known(columns.start[span])),
    number("duration", "duration_ns", (span) => known(columns.duration[span])),
    number("bytes", "size_bytes", (span) => known(columns.size[span]), format.bytes),
  ];
  const table = grid(`Spans of ${trace.name}`, heads, spans, stage.host);
  return columns.problem === null
    ? table
    : element("div", "", element("p", "jsp-outcome", columns.problem), table);
}

export function sweepTable(doc: SweepDocument, stage: Stage): Part {
  const titles = new Map(doc.variants.map((variant) => [variant.key, variant.title]));
  const stages = stagesOf(doc);
  const keys = [...new Set(doc.points.flatMap((point) => Object.keys(point.stages)))].toSorted(
    (a, b) => (stages.get(a)?.order ?? 0) - (stages.get(b)?.order ?? 0),
  );
  const counted = (title: string, key: "parameter" | "loops"): GridColumn<Point>[] =>
    doc.points.some((point) => point[key] != null)
      ? [number(title, key, (point) => point[key] ?? null, format.count)]
      : [];
  const columns: GridColumn<Point>[] = [
    words("Variant", "variant", (point) => String(titles.get(point.variant) ?? point.variant)),
    number("size", "size_bytes", (point) => point.size_bytes, format.bytes),
    ...counted(doc.parameter || "parameter", "parameter"),
    words("run", "run", (point) => (point.cold ? "cold" : "warm")),
    number("repeat", "repeat", (point) => point.repeat, format.count),
    ...counted("runs in one", "loops"),
    number("total", "wall_ns", (point) => point.wall_ns),
    number("moved", "moved_bytes", (point) => point.moved_bytes, format.bytes),
    number("page faults", "minor_faults", (point) => point.minor_faults ?? null, format.count),
    ...keys.map((key) =>
      number<Point>(
        String(stages.get(key)?.title ?? key),
        `${key}_ns`,
        (point) => point.stages[key] ?? null,
      ),
    ),
  ];
  const table = grid(`All runs of ${doc.name}`, columns, doc.points, stage.host);
  return { node: element("section", "jsp-table-view", table) };
}
