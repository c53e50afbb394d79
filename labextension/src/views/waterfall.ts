/** The waterfall: rows in the order of the road; they add up to the wall time. */

import type { DrawnTrace, Row, Stage } from "../core/document";
import { element, titled } from "../core/dom";
import * as format from "../core/format";
import { carriesBytes, familyOf } from "../core/theme";
import { chip, segment, swatch } from "./marks";
import { axis, gapPlot, rowPlot } from "./plot";

const COLUMNS = ["Stage", "", "", "self", "share", "busy", "bytes", "rate", "of memcpy"] as const;
const OPTIONAL = { busy: 5, bytes: 6, rate: 7, memcpy: 8 } as const;

export function waterfall(trace: DrawnTrace): HTMLElement {
  return element("section", "jsp-waterfall", summaryBar(trace), table(trace), legend());
}

function stageOf(trace: DrawnTrace, row: Row): Stage {
  return trace.stages[row.stage] as Stage;
}

function summaryBar(trace: DrawnTrace): HTMLElement {
  const wall = trace.wall_ns || 1;
  const parts = trace.waterfall.rows
    .filter((row) => row.self_ns > 0)
    .map((row) => {
      const stage = stageOf(trace, row);
      const share = row.self_ns / wall;
      const label = `${stage.title}  ${format.percent(share)}`;
      const tooltip = `${stage.title}: ${format.duration(row.self_ns)}, ${format.percent(share)}`;
      return segment(`jsp-${familyOf(stage.family)}`, share, label, tooltip);
    });
  const rest = trace.waterfall.unaccounted_ns / wall;
  if (rest > 0) {
    parts.push(segment("jsp-unaccounted", rest, "", `Unaccounted: ${format.percent(rest)}`));
  }
  const node = element("div", "jsp-summary", ...parts);
  node.setAttribute("aria-hidden", "true");
  return node;
}

function table(trace: DrawnTrace): HTMLElement {
  const scale = format.columnScale(trace.wall_ns);
  const { rows, unaccounted_ns } = trace.waterfall;
  const owned = [...rows.map((row) => row.self_ns), unaccounted_ns];
  const selves = format.roundToSum(
    owned.map((ns) => ns / scale.unitNs),
    scale.decimals,
  );
  const wall = trace.wall_ns || 1;
  const shares = format.roundToSum(
    owned.map((ns) => (ns / wall) * 100),
    1,
  );
  const biggest = Math.max(...owned);
  const body = rows.map((row, index) => {
    const line = stageRow(trace, row, scale, selves[index] as number, shares[index] as number);
    line.classList.toggle("jsp-biggest", row.self_ns === biggest);
    return line;
  });
  body.push(restRow(trace, scale, selves.at(-1) as number, shares.at(-1) as number));
  return element(
    "table",
    "jsp-table",
    element("caption", "jsp-hidden", `Stages of ${trace.name ?? "the run"}`),
    headRow(trace, scale),
    element("tbody", "", ...body),
    totalRow(trace, scale),
  );
}

function headRow(trace: DrawnTrace, scale: format.ColumnScale): HTMLElement {
  const units: Record<string, string> = { self: scale.unit, share: "%", busy: scale.unit };
  const cells = COLUMNS.map((title, index) => {
    if (index === 2) {
      return element("th", "jsp-plot-head", axis(trace.wall_ns, scale));
    }
    const unit = units[title];
    const cell = element("th", columnClass(index), title);
    if (unit !== undefined) {
      cell.append(element("br", ""), unit);
    }
    cell.scope = "col";
    return cell;
  });
  return element("thead", "", element("tr", "", ...cells));
}

function columnClass(index: number): string {
  if (index < 2) {
    return index === 0 ? "jsp-stage" : "jsp-lane";
  }
  const name = Object.entries(OPTIONAL).find(([, position]) => position === index)?.[0];
  return name === undefined ? "jsp-number" : `jsp-number jsp-column-${name}`;
}

function stageRow(
  trace: DrawnTrace,
  row: Row,
  scale: format.ColumnScale,
  self: number,
  share: number,
): HTMLElement {
  const stage = stageOf(trace, row);
  const family = familyOf(stage.family);
  const times = row.count > 1 ? element("span", "jsp-count", `×${format.count(row.count)}`) : null;
  const name = element("th", "jsp-stage", swatch(family), stage.title, times);
  name.scope = "row";
  const lane = trace.lanes[row.lane];
  const rate = row.copied_bytes == null ? null : format.rateOf(row.copied_bytes, row.busy_ns);
  const memcpy = trace.limits?.memcpy_bytes_per_s;
  const unknown = carriesBytes(family) ? format.NOT_SEEN : format.NOT_APPLICABLE;
  return element(
    "tr",
    "",
    stage.note ? titled(name, stage.note) : name,
    element("td", "jsp-lane", lane ? titled(chip(lane.kind ?? lane.key), lane.key) : null),
    element("td", "jsp-plot-cell", rowPlot(trace, row, stage)),
    number(3, format.fixed(self, scale.decimals)),
    number(4, format.fixed(share, 1)),
    number(OPTIONAL.busy, format.fixed(row.busy_ns / scale.unitNs, scale.decimals)),
    number(OPTIONAL.bytes, row.size_bytes === null ? unknown : format.bytes(row.size_bytes)),
    rateCell(row, rate, unknown),
    number(
      OPTIONAL.memcpy,
      rate === null || !memcpy ? format.NOT_APPLICABLE : format.percent(rate / memcpy, 0),
    ),
  );
}

function rateCell(row: Row, rate: number | null, unknown: string): HTMLElement {
  if (rate !== null) {
    return number(OPTIONAL.rate, format.bytesPerSecond(rate));
  }
  if (row.copied_bytes === 0 && row.size_bytes !== null && row.size_bytes > 0) {
    return titled(number(OPTIONAL.rate, "no copy"), "zero-copy: no byte was moved, so no rate");
  }
  const isUnseen = row.size_bytes !== null && row.copied_bytes == null;
  return number(OPTIONAL.rate, isUnseen ? unknown : format.NOT_APPLICABLE);
}

function restRow(
  trace: DrawnTrace,
  scale: format.ColumnScale,
  self: number,
  share: number,
): HTMLElement {
  const name = element("th", "jsp-stage", swatch("unaccounted"), "Unaccounted");
  name.scope = "row";
  return element(
    "tr",
    "jsp-rest",
    titled(name, "wall time that no stage explains; it is never spread over the others"),
    element("td", "jsp-lane"),
    element("td", "jsp-plot-cell", gapPlot(trace)),
    number(3, format.fixed(self, scale.decimals)),
    number(4, format.fixed(share, 1)),
    ...[5, 6, 7, 8].map((column) => number(column, format.NOT_APPLICABLE)),
  );
}

function totalRow(trace: DrawnTrace, scale: format.ColumnScale): HTMLElement {
  const name = element("th", "jsp-stage", "Wall time");
  name.scope = "row";
  return element(
    "tfoot",
    "",
    element(
      "tr",
      "",
      name,
      element("td", "jsp-lane"),
      element("td", "jsp-plot-cell"),
      number(3, format.fixed(trace.wall_ns / scale.unitNs, scale.decimals)),
      number(4, format.fixed(100, 1)),
      ...[5, 6, 7, 8].map((column) => number(column, "")),
    ),
  );
}

function number(column: number, text: string): HTMLElement {
  const muted = text === format.NOT_APPLICABLE || text === format.NOT_SEEN ? " jsp-muted" : "";
  return element("td", columnClass(column) + muted, text);
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
