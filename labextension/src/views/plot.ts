/** The time column of the waterfall: axis, bars at their true time, gaps nobody explains. */

import { LAST_LABEL_SHARE, ticks } from "../core/axis";
import type { DrawnTrace, Row, Stage } from "../core/document";
import { element, place } from "../core/dom";
import * as format from "../core/format";
import { familyOf } from "../core/theme";
import { bar } from "./marks";

type Piece = readonly [startNs: number, durationNs: number];

/** Room a label needs, as a share of a plot about 400 px wide. */
const LABEL_SHARE = 0.2;

export function axis(wallNs: number): HTMLElement {
  const scale = format.columnScale(wallNs);
  const end = wallNs / scale.unitNs;
  const shown = ticks(end).filter((value) => value <= end * LAST_LABEL_SHARE);
  const labels = shown.map((value) => {
    const node = place(element("span", "jsp-tick", format.count(value)), value / (end || 1), 0);
    node.classList.toggle("jsp-tick-first", value === 0);
    return node;
  });
  const total = `${format.fixed(end, end >= 100 ? 0 : scale.decimals)}\u00a0${scale.unit}`;
  return element("div", "jsp-axis", ...labels, element("span", "jsp-tick-end", total));
}

export function rowPlot(trace: DrawnTrace, row: Row, stage: Stage): HTMLElement {
  const pieces = piecesOf(row);
  const wall = trace.wall_ns || 1;
  const kind = stage.waits === true ? "jsp-waits" : `jsp-${familyOf(stage.family)}`;
  const bars = pieces.map(([start, length]) =>
    bar(
      kind,
      start / wall,
      length / wall,
      `${stage.title}: ${format.duration(length)} at ${format.duration(start)}`,
    ),
  );
  const last = pieces.at(-1);
  const label = last === undefined ? null : labelFor(row, pieces[0] as Piece, last, wall, kind);
  return element("div", "jsp-plot", grid(trace), ...bars, label);
}

/** What no row owns, hatched, at its true time. */
export function gapPlot(trace: DrawnTrace): HTMLElement {
  const wall = trace.wall_ns || 1;
  const gaps = gapsOf(trace).map(([start, length]) =>
    bar(
      "jsp-unaccounted",
      start / wall,
      length / wall,
      `Unaccounted: ${format.duration(length)} at ${format.duration(start)}`,
    ),
  );
  return element("div", "jsp-plot", grid(trace), ...gaps);
}

function piecesOf(row: Row): readonly Piece[] {
  if (row.pieces !== undefined && row.pieces.length > 0) {
    return row.pieces;
  }
  return row.self_ns > 0 ? [[row.start_ns, row.self_ns]] : [];
}

export function gapsOf(trace: DrawnTrace): Piece[] {
  if (trace.waterfall.unaccounted_ns === 0) {
    return [];
  }
  const owned = trace.waterfall.rows.flatMap(piecesOf).toSorted((a, b) => a[0] - b[0]);
  const gaps: Piece[] = [];
  let end = 0;
  for (const [start, length] of owned) {
    if (start > end) {
      gaps.push([end, start - end]);
    }
    end = Math.max(end, start + length);
  }
  if (trace.wall_ns > end) {
    gaps.push([end, trace.wall_ns - end]);
  }
  return gaps;
}

function grid(trace: DrawnTrace): HTMLElement {
  const scale = format.columnScale(trace.wall_ns);
  const end = trace.wall_ns / scale.unitNs || 1;
  const lines = ticks(end).map((value) => place(element("div", "jsp-grid-line"), value / end, 0));
  const node = element("div", "jsp-grid", ...lines);
  node.setAttribute("aria-hidden", "true");
  return node;
}

/** Inside a wide bar; else to its right; else to its left; else the number is in the table only. */
function labelFor(
  row: Row,
  first: Piece,
  last: Piece,
  wall: number,
  kind: string,
): HTMLElement | null {
  const left = first[0] / wall;
  const right = Math.min(1, (last[0] + last[1]) / wall);
  const isOneBar = first === last && kind !== "jsp-waits";
  const node = element("span", "jsp-label", format.duration(row.self_ns));
  node.setAttribute("aria-hidden", "true");
  if (isOneBar && right - left > LABEL_SHARE) {
    node.classList.add("jsp-label-inside", `jsp-on-${kind.slice(4)}`);
    node.style.left = `${left * 100}%`;
  } else if (right < 1 - LABEL_SHARE) {
    node.style.left = `${right * 100}%`;
  } else if (left > LABEL_SHARE) {
    node.style.right = `${(1 - left) * 100}%`;
  } else {
    return null;
  }
  return node;
}
