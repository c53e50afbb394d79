/** The Table view: every picture as sortable numbers, the twin for those who do not see it. */

import type { Columns } from "../document/decode";
import {
  type DrawnTrace,
  hasWaterfall,
  type Point,
  type SweepDocument,
} from "../document/document";
import * as format from "../document/format";
import { radio } from "../kit/controls";
import { element } from "../kit/dom";
import { type GridColumn, grid } from "../kit/grid";
import { stagesOf } from "../sweep/series";
import { parentOf } from "../waterfall/outline";
import { documentTables } from "./facts";
import type { Part, Stage } from "./part";

interface StageLine {
  readonly title: string;
  /** The computation it belongs to, and the stage it is a part of; "" when there is none. */
  readonly group: string;
  readonly part: string;
  readonly lane: string;
  readonly self_ns: number;
  readonly busy_ns: number | null;
  readonly size_bytes: number | null;
  readonly copied_bytes: number | null;
  readonly count: number | null;
  readonly start_ns: number | null;
}

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

function stageGrid(trace: DrawnTrace, stage: Stage): HTMLElement {
  const lines: StageLine[] = trace.waterfall.rows.map((row) => ({
    title: String(trace.stages[row.stage]?.title ?? "Unknown stage"),
    group: String(trace.groups?.[row.group ?? -1]?.title ?? ""),
    part: parentOf(trace, row.stage)?.title ?? "",
    lane: String(trace.lanes[row.lane]?.key ?? ""),
    self_ns: row.self_ns,
    busy_ns: row.busy_ns,
    size_bytes: row.size_bytes ?? null,
    copied_bytes: row.copied_bytes ?? null,
    count: row.count,
    start_ns: row.start_ns,
  }));
  const none = {
    group: "",
    part: "",
    lane: "",
    busy_ns: null,
    size_bytes: null,
    copied_bytes: null,
    count: null,
  };
  lines.push({
    ...none,
    title: "Unaccounted",
    self_ns: trace.waterfall.unaccounted_ns,
    start_ns: null,
  });
  const share = (line: StageLine): number | null =>
    trace.wall_ns > 0 ? line.self_ns / trace.wall_ns : null;
  const columns: GridColumn<StageLine>[] = [
    words("Stage", "stage", (line) => line.title),
    ...(lines.some((line) => line.group !== "")
      ? [words<StageLine>("Computation", "group", (line) => line.group)]
      : []),
    ...(lines.some((line) => line.part !== "")
      ? [words<StageLine>("Part of", "part_of", (line) => line.part)]
      : []),
    words("Lane", "lane", (line) => line.lane),
    time("starts", "start_ns", (line) => line.start_ns),
    time("self", "self_ns", (line) => line.self_ns),
    number("share", "share", share, (value) => format.percent(value)),
    time("busy", "busy_ns", (line) => line.busy_ns),
    number("count", "count", (line) => line.count, format.count),
    number("bytes", "size_bytes", (line) => line.size_bytes, format.bytes),
    number("copied", "copied_bytes", (line) => line.copied_bytes, format.bytes),
  ];
  return grid(`Stages of ${trace.name}`, columns, lines, stage.host);
}

function spanGrid(trace: DrawnTrace, columns: Columns, stage: Stage): HTMLElement {
  const spans = Array.from({ length: columns.count }, (_, span) => span);
  const known = (value: number | undefined): number | null =>
    value === undefined || Number.isNaN(value) ? null : value;
  const text = (words: unknown): string => String(words ?? "");
  const heads: GridColumn<number>[] = [
    words("Name", "name", (span) =>
      text(trace.strings[columns.name[span] as number] || `span ${span}`),
    ),
    words("Stage", "stage", (span) => text(trace.stages[columns.stage[span] as number]?.title)),
    words("Lane", "lane", (span) => text(trace.lanes[columns.lane[span] as number]?.key)),
    time("starts", "start_ns", (span) => known(columns.start[span])),
    time("duration", "duration_ns", (span) => known(columns.duration[span])),
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
  const columns: GridColumn<Point>[] = [
    words("Variant", "variant", (point) => String(titles.get(point.variant) ?? point.variant)),
    number("size", "size_bytes", (point) => point.size_bytes, format.bytes),
    ...(doc.points.some((point) => point.parameter != null)
      ? [
          number<Point>(
            doc.parameter || "parameter",
            "parameter",
            (point) => point.parameter ?? null,
            format.count,
          ),
        ]
      : []),
    words("run", "run", (point) => (point.cold ? "cold" : "warm")),
    number("repeat", "repeat", (point) => point.repeat, format.count),
    ...(doc.points.some((point) => point.loops != null)
      ? [number<Point>("runs in one", "loops", (point) => point.loops ?? null, format.count)]
      : []),
    time("total", "wall_ns", (point) => point.wall_ns),
    number("moved", "moved_bytes", (point) => point.moved_bytes, format.bytes),
    number("page faults", "minor_faults", (point) => point.minor_faults ?? null, format.count),
    ...keys.map((key) =>
      time<Point>(
        String(stages.get(key)?.title ?? key),
        `${key} self_ns`,
        (point) => point.stages[key] ?? null,
      ),
    ),
  ];
  const table = grid(`All runs of ${doc.name}`, columns, doc.points, stage.host);
  return { node: element("section", "jsp-table-view", table) };
}

function words<Row>(title: string, key: string, value: (row: Row) => string): GridColumn<Row> {
  return { title, key, value, text: value };
}

function time<Row>(
  title: string,
  key: string,
  value: (row: Row) => number | null,
): GridColumn<Row> {
  return number(title, key, value, format.duration);
}

function number<Row>(
  title: string,
  key: string,
  value: (row: Row) => number | null,
  print: (value: number | null) => string,
): GridColumn<Row> {
  const text = (row: Row): string => {
    const known = value(row);
    return known === null ? format.NOT_APPLICABLE : print(known);
  };
  return { title, key, value, text, isNumber: true };
}
