/** The time column of the waterfall: axis, bars at their true time, gaps nobody explains. */

import type { DrawnTrace, Stage } from "../document/document";
import * as format from "../document/format";
import { labelFor, type Measure, measureWith } from "../kit/canvas";
import { element, having, place } from "../kit/dom";
import { bar } from "../kit/marks";
import { LAST_LABEL_SHARE, ticks } from "../kit/scale";
import { familyOf } from "../kit/theme";
import { barText } from "./columns";
import { densityOf, joined, lengthOf, type Piece, piecesOf } from "./critical";
import type { Scene } from "./line";
import type { RowNode } from "./outline";

/** Pieces with less work in them are drawn as high as the work, on a tint of their extent. */
const FULL_DENSITY = 0.97;

/** The mark of a picture: when the first task began. */
export interface Guide {
  readonly time_ns: number;
  readonly title: string;
}

/** A time column and how to place its label once its width is known. */
export interface Plot {
  readonly node: HTMLElement;
  /** What its bars stand for. */
  readonly pieces: readonly Piece[];
  placeLabel(): void;
}

/** Where the first task runs, if that is late enough to matter. */
export function guideOf(trace: DrawnTrace): Guide | null {
  const starts = trace.waterfall.rows
    .filter((row) => /^(dask|ray)\.execute$/.test(trace.stages[row.stage]?.key ?? ""))
    .map((row) => row.start_ns);
  const time = Math.min(...starts);
  const isWorthIt = time > trace.wall_ns * 0.03 && time < trace.wall_ns;
  return isWorthIt ? { time_ns: time, title: `first task ${format.duration(time)}` } : null;
}

export function axis(wallNs: number, guide: Guide | null = null): HTMLElement {
  const scale = format.columnScale(wallNs);
  const end = wallNs / scale.unitNs;
  const shown = ticks(end).filter((value) => value <= end * LAST_LABEL_SHARE);
  const labels = shown.map((value) => {
    const node = place(element("span", "jsp-tick", format.count(value)), value / (end || 1), 0);
    node.classList.toggle("jsp-tick-first", value === 0);
    return node;
  });
  const total = `${format.fixed(end, end >= 100 ? 0 : scale.decimals)}\u00a0${scale.unit}`;
  const node = element("div", "jsp-axis", ...labels, element("span", "jsp-tick-end", total));
  if (guide !== null) {
    node.classList.add("jsp-axis-guided");
    const share = guide.time_ns / (wallNs || 1);
    const label = place(element("span", "jsp-guide-label", guide.title), share, 0);
    label.classList.toggle("jsp-guide-label-left", share > 0.7);
    node.append(label);
  }
  return node;
}

export function rowPlot(scene: Scene, { position, row }: RowNode, stage: Stage): Plot {
  const pieces = piecesOf(row);
  const text = scene.columns[0]?.text(row, position) ?? "";
  // A bar that stands for several spans has the time of none of them.
  const texts = row.count === 1 && row.self_ns > 0 ? [barText(scene, text)] : [];
  return piecesPlot(scene, stage, pieces, densityOf(row.self_ns, pieces), texts);
}

/** The class of the bars of a stage. */
export function kindOf({ family, waits }: Stage): string {
  return waits === true ? "jsp-waits" : `jsp-${familyOf(family)}`;
}

/** Bars for pieces of time, with a label inside, right or left of them by room. */
export function piecesPlot(
  scene: Scene,
  stage: Stage,
  pieces: readonly Piece[],
  density: number,
  texts: readonly string[],
): Plot {
  const wall = scene.trace.wall_ns || 1;
  const bars = pieces.map(([start, length]) => {
    const tooltip = `${stage.title}: ${format.duration(length)} at ${format.duration(start)}`;
    const node = bar(kindOf(stage), start / wall, length / wall, tooltip);
    if (density < FULL_DENSITY) {
      node.classList.add("jsp-partial");
      node.style.setProperty("--jsp-level", `${Math.max(7, density * 100).toFixed(1)}%`);
    }
    return node;
  });
  const label = having(element("span", "jsp-label"), { "aria-hidden": "true" });
  const node = element("div", "jsp-plot", grid(scene), ...bars, label);
  const canBeInside = pieces.length === 1 && density >= FULL_DENSITY;
  const placeLabel = (): void =>
    placeIn(node, label, extent(pieces, wall), texts, kindOf(stage), canBeInside);
  scene.plots.push({ node, pieces, placeLabel });
  return { node, pieces, placeLabel };
}

/** A bracket from the beginning to the end of a computation. */
export function extentPlot(scene: Scene, piece: Piece | null): Plot {
  const wall = scene.trace.wall_ns || 1;
  const pieces = piece === null ? [] : [piece];
  const marks = pieces.map(([start, length]) => {
    const tooltip = `${format.duration(length)} from ${format.duration(start)}`;
    return bar("jsp-extent", start / wall, length / wall, tooltip);
  });
  return { node: element("div", "jsp-plot", grid(scene), ...marks), pieces: [], placeLabel() {} };
}

function extent(pieces: readonly Piece[], wall: number): readonly [number, number] | null {
  const [first, last] = [pieces[0], pieces.at(-1)];
  const at = (ns: number): number => Math.min(1, Math.max(0, ns / wall));
  return first === undefined || last === undefined ? null : [at(first[0]), at(last[0] + last[1])];
}

const LABEL_FONT = "11px";
/** Where a canvas cannot measure, a digit is about so wide, px. */
const DIGIT_PX = 6.3;

let measurer: Measure | null = null;

function measure(text: string): number {
  if (measurer === null) {
    const context = document.createElement("canvas").getContext("2d");
    if (context !== null) {
      context.font = `${LABEL_FONT} system-ui, sans-serif`;
    }
    measurer = context === null ? (words) => words.length * DIGIT_PX : measureWith(context);
  }
  return measurer(text);
}

function placeIn(
  plot: HTMLElement,
  label: HTMLElement,
  shares: readonly [number, number] | null,
  texts: readonly string[],
  kind: string,
  canBeInside: boolean,
): void {
  const width = plot.clientWidth || 400;
  const [from, to] = (shares ?? [0, 0]).map((share) => share * width) as [number, number];
  const bar = { from, to: Math.max(from + 1, to) };
  const shown = shares === null ? [] : texts;
  const found = labelFor(shown, bar, 0, width, measure, canBeInside);
  label.className = `jsp-label${found?.side === "inside" ? ` jsp-label-inside ${kind}` : ""}`;
  label.textContent = found?.text ?? "";
  label.style.left = `${found?.x ?? 0}px`;
}

/** What no row owns, hatched, at its true time. */
export function gapPlot(scene: Scene): HTMLElement {
  const { trace } = scene;
  const wall = trace.wall_ns || 1;
  const gaps = gapsOf(trace).map(([start, length]) => {
    const tooltip = `Unaccounted: ${format.duration(length)} at ${format.duration(start)}`;
    return bar("jsp-unaccounted", start / wall, length / wall, tooltip);
  });
  return element("div", "jsp-plot", grid(scene), ...gaps, ...hiddenGaps(trace));
}

/**
 * Pieces that the document has merged hide gaps between them: those are as low as they are rare,
 * over the stretch in which they lie.
 */
function hiddenGaps(trace: DrawnTrace): HTMLElement[] {
  const hidden = trace.waterfall.unaccounted_ns - lengthOf(gapsOf(trace));
  const merged = trace.waterfall.rows.flatMap((row) =>
    densityOf(row.self_ns, piecesOf(row)) < FULL_DENSITY ? piecesOf(row) : [],
  );
  const from = Math.max(0, Math.min(...merged.map(([start]) => start)));
  const to = Math.min(trace.wall_ns, Math.max(...merged.map(([start, length]) => start + length)));
  if (hidden <= 0 || merged.length === 0 || to <= from) {
    return [];
  }
  const wall = trace.wall_ns || 1;
  const tooltip = `Unaccounted: ${format.duration(hidden)} in gaps between ${format.duration(from)} and ${format.duration(to)}`;
  return [bar("jsp-unaccounted jsp-low", from / wall, (to - from) / wall, tooltip)];
}

export function gapsOf(trace: DrawnTrace): Piece[] {
  if (trace.waterfall.unaccounted_ns === 0) {
    return [];
  }
  const owned = joined(trace.waterfall.rows.flatMap(piecesOf));
  const ends = [0, ...owned.map(([start, length]) => Math.max(0, start + length))];
  const next = [...owned.map(([start]) => start), trace.wall_ns];
  return ends.flatMap((end, at): Piece[] => {
    const length = (next[at] as number) - end;
    return length > 0 ? [[end, length]] : [];
  });
}

function grid({ guide, trace }: Scene): HTMLElement {
  const scale = format.columnScale(trace.wall_ns);
  const end = trace.wall_ns / scale.unitNs || 1;
  const lines = ticks(end).map((value) => place(element("div", "jsp-grid-line"), value / end, 0));
  if (guide !== null) {
    lines.push(place(element("div", "jsp-guide"), guide.time_ns / (trace.wall_ns || 1), 0));
  }
  return having(element("div", "jsp-grid", ...lines), { "aria-hidden": "true" });
}
