/** The rows of a waterfall, and the blocks that fold. */

import type { DrawnTrace, Row, Stage } from "../document/document";
import * as format from "../document/format";
import { measuredOf } from "../frame/measured";
import { openByRow, twisty } from "../kit/controls";
import { element, having, titled } from "../kit/dom";
import { bar, chip, swatch } from "../kit/marks";
import type { Range } from "../kit/scale";
import { familyOf } from "../kit/theme";
import type { Child as ChildRow } from "./children";
import { barText, inUnit } from "./columns";
import type { Piece } from "./critical";
import { indent, line, type Scene } from "./line";
import { openable } from "./open";
import { type BlockNode, coverOf, type Node, type RowNode, rowsIn, wholeOf } from "./outline";
import { extentPlot, kindOf, type Plot, piecesPlot, rowPlot } from "./plot";

export type ChildrenOf = (row: Row) => Promise<readonly ChildRow[]>;

/** A line of the table and what hangs on it. */
export interface Entry {
  readonly node: Node;
  readonly row: HTMLTableRowElement;
  readonly plot: Plot;
  readonly entries: readonly Entry[];
  /** Rows right below it: remedies that were tried. */
  readonly ghosts: readonly HTMLElement[];
  isOpen(): boolean;
  /** Rows that were opened below it: what its spans are called. */
  opened(): readonly HTMLElement[];
}

export function entryOf(scene: Scene, node: Node, depth: number, childrenOf: ChildrenOf): Entry {
  return node.kind === "row"
    ? rowEntry(scene, node, depth, childrenOf)
    : blockEntry(scene, node, depth, childrenOf);
}

export function everyEntry(entries: readonly Entry[]): Entry[] {
  return entries.flatMap((entry) => [entry, ...everyEntry(entry.entries)]);
}

/** What lies in a folded block is not on the page. */
export function showRows(entries: readonly Entry[], isShown = true): void {
  for (const entry of entries) {
    for (const row of [entry.row, ...entry.ghosts, ...entry.opened()]) {
      row.hidden = !isShown;
    }
    showRows(entry.entries, isShown && entry.isOpen());
  }
}

/** The stage that a row or a block stands for. */
export function stageOf(trace: DrawnTrace, node: Node): Stage {
  const own = node.kind === "row" ? trace.stages[node.row.stage] : node.stage;
  return own ?? ({ title: (node as BlockNode).title, family: "other" } as Stage);
}

function rowEntry(scene: Scene, node: RowNode, depth: number, childrenOf: ChildrenOf): Entry {
  const { trace, columns } = scene;
  const { row, position } = node;
  const stage = stageOf(trace, node);
  const times = row.count > 1 ? element("span", "jsp-count", `×${format.count(row.count)}`) : null;
  const plot = rowPlot(scene, node, stage);
  const title = node.isRest ? "itself" : stage.title;
  const name = element("span", "jsp-stage-name", title, times);
  const tr = line(
    [swatch(stage.waits ? "waits" : familyOf(stage.family)), name],
    plot.node,
    columns,
    (column) => column.text(row, position),
  );
  laned(trace, tr, row);
  indent(tr, depth);
  magnified(trace, tr, plot, stage);
  const opened = openable(scene, tr, stage, depth, () => childrenOf(row));
  noted(tr, title, stage.note);
  const ghosts = node.isRest ? [] : ghostRows(scene, stage, row.start_ns, depth + 1);
  return { node, row: tr, plot, ghosts, entries: [], isOpen: () => false, opened };
}

function blockEntry(scene: Scene, node: BlockNode, depth: number, childrenOf: ChildrenOf): Entry {
  const { columns, trace } = scene;
  const plot = blockPlot(scene, node);
  const mark = node.kind === "group" ? null : swatch(familyOf(node.stage?.family));
  const share = columns.find((column) => column.name === "share")?.sum(rowsIn(node));
  const told = node.kind === "more" ? `, ${share}\u00a0%` : "";
  const name = element("span", "jsp-stage-name", node.title + told);
  const rows = rowsIn(node);
  const isOne = node.kind === "stage";
  const tr = line([mark, name], plot.node, columns, (column) =>
    isOne || ADDED.has(column.name) ? column.sum(rows) : format.NOT_APPLICABLE,
  );
  if (isOne) {
    laned(trace, tr, wholeOf(rows));
  }
  tr.classList.add(`jsp-block-${node.kind}`);
  indent(tr, depth);
  const fold = twisty(`Rows of ${node.title}`, node.isOpen, scene.refresh);
  openByRow(tr, fold);
  noted(tr, node.title, node.stage?.note);
  const entries = node.nodes.map((each) => entryOf(scene, each, depth + 1, childrenOf));
  if (isOne) {
    for (const { row } of entries) {
      row.classList.add("jsp-part");
    }
  }
  const start = coverOf(rows).pieces[0]?.[0] ?? 0;
  const ghosts = node.stage === null ? [] : ghostRows(scene, node.stage, start, depth + 1);
  return { node, row: tr, plot, ghosts, entries, isOpen: fold.isOpen, opened: () => [] };
}

/** What computations and small stages have in common: their other numbers are those of each. */
const ADDED = new Set(["", "share", "busy"]);

/** Who did it: the kind of the lane, its key where others of its kind are drawn. */
function laned(trace: DrawnTrace, tr: HTMLTableRowElement, { lane: at }: Row): void {
  const lane = trace.lanes[at];
  if (lane !== undefined) {
    const drawn = new Set(trace.waterfall.rows.map((row) => row.lane));
    const same = [...drawn].filter((other) => trace.lanes[other]?.kind === lane.kind);
    const isNamed = String(lane.key).startsWith("worker ") || same.length < 2;
    const error = lane.clock_error_ns ? `, clock ±${format.duration(lane.clock_error_ns)}` : "";
    const name = chip(String((isNamed && lane.kind) || lane.key));
    tr.querySelector(".jsp-lane")?.append(titled(name, `${lane.key}${error}`));
  }
}

/** What a stage contains: on hover, and while the button of its row has the focus. */
function noted(row: HTMLTableRowElement, title: string, note = ""): void {
  const head = row.cells[0] as HTMLElement;
  if (note === "") {
    titled(head, title);
  } else {
    having(head, { "data-note": `${title}: ${note}` });
    having(head.querySelector("button") as Element, { "aria-description": note });
  }
}

/** How stages that took little are drawn together. */
const FEW: Stage = { key: "", title: "more stages", order: 0 };

function blockPlot(scene: Scene, node: BlockNode): Plot {
  if (node.kind === "group") {
    return extentPlot(scene, node.extent);
  }
  // Grey where it waits, and over that its colour where it works.
  const [wait, work] = [true, false].map((waits) => {
    const isOf = ({ row }: RowNode): boolean =>
      (scene.trace.stages[row.stage]?.waits ?? false) === waits;
    const { pieces, density } = coverOf(rowsIn(node).filter(isOf));
    return piecesPlot(scene, { ...(node.stage ?? FEW), waits }, pieces, density, []);
  }) as [Plot, Plot];
  work.node.firstElementChild?.after(...wait.node.querySelectorAll(".jsp-bar"));
  return { ...work, pieces: [...wait.pieces, ...work.pieces] };
}

/** Outlines of remedies that were tried, below their stage; null is the wall time. */
export function ghostRows(scene: Scene, stage: Stage | null, startNs: number, depth: number) {
  const { columns, trace } = scene;
  return (trace.findings ?? []).flatMap((finding) => {
    const measured = measuredOf(finding);
    if (measured === null || measured.after_ns <= 0 || !isOf(trace, measured.stage, stage)) {
      return [];
    }
    const { after_ns, text } = measured;
    const drawn = stage ?? { title: "Wall time", key: "", order: 0 };
    const own = barText(scene, inUnit(trace.wall_ns, after_ns));
    const texts = [`${own}, ${text}`, text, own];
    const plot = piecesPlot(scene, drawn, [[startNs, after_ns]], 1, texts);
    plot.node.classList.add("jsp-ghost");
    const name = titled(element("span", "jsp-stage-name", `tried: ${finding.title}`), text);
    const row = line([name], plot.node, columns, (column) =>
      // In brackets: it does not add up with the column.
      column.title === "self" ? `(${inUnit(trace.wall_ns, after_ns)})` : format.NOT_APPLICABLE,
    );
    row.classList.add("jsp-child");
    indent(row, depth);
    return [row];
  });
}

/** A stage that nobody recorded here is part of the wall time. */
function isOf(trace: DrawnTrace, key: string, stage: Stage | null): boolean {
  const isRecorded = trace.waterfall.rows.some((row) => trace.stages[row.stage]?.key === key);
  return stage === null ? !isRecorded : stage.key === key;
}

/** Narrower bars are magnified, px. */
const SMALL_PX = 6;
const WIDTH_PX = 170;
/** With what is written beside it; where there is no room it would lie over numbers. */
const GLASS_PX = WIDTH_PX + 120;
/** Room on both sides of what is magnified (share of it). */
const ROOM = 0.2;

/** A bar that is too small to be seen is shown large while its row has the pointer or the focus. */
export function magnified(trace: DrawnTrace, row: HTMLElement, plot: Plot, stage: Stage) {
  let glass: HTMLElement | null = null;
  const hide = (): void => {
    glass?.remove();
    glass = null;
  };
  const show = (): void => {
    const width = plot.node.clientWidth;
    const range = magnifiedRange(plot.pieces, trace.wall_ns / (width || 1));
    const share = (range?.from ?? 0) / (trace.wall_ns || 1);
    if (glass !== null || range === null || width * Math.max(share, 1 - share) < GLASS_PX) {
      return;
    }
    glass = glassOf(trace, plot, stage, range, width);
    plot.node.append(glass);
  };
  for (const [begin, end] of [
    ["mouseenter", "mouseleave"],
    ["focusin", "focusout"],
  ] as const) {
    row.addEventListener(begin, show);
    row.addEventListener(end, hide);
  }
}

/** All pieces when they lie in a few pixels, else the longest one if it is small; null: all is seen. */
export function magnifiedRange(pieces: readonly Piece[], nsPerPixel: number): Range | null {
  const longest = pieces.toSorted((a, b) => b[1] - a[1])[0];
  const [first, last] = [pieces[0], pieces.at(-1)];
  if (first === undefined || last === undefined || longest === undefined) {
    return null;
  }
  const whole = { from: first[0], to: last[0] + last[1] };
  const one = { from: longest[0], to: longest[0] + longest[1] };
  const small = [whole, one].find(({ from, to }) => to - from < SMALL_PX * nsPerPixel);
  if (small === undefined || !(small.to > small.from)) {
    return null;
  }
  const room = (small.to - small.from) * ROOM;
  return { from: small.from - room, to: small.to + room };
}

function glassOf(
  trace: DrawnTrace,
  plot: Plot,
  stage: Stage,
  range: Range,
  width: number,
): HTMLElement {
  const length = range.to - range.from;
  const kind = kindOf(stage);
  const seen = plot.pieces.filter(([at, long]) => at + long > range.from && at < range.to);
  const bars = seen.map(([at, long]) => bar(kind, (at - range.from) / length, long / length, ""));
  const times = (trace.wall_ns / width) * (WIDTH_PX / length);
  const glass = element("div", "jsp-glass", element("div", "jsp-glass-bars", ...bars));
  glass.append(`magnified ${format.ratio(times)}`);
  having(glass, { "aria-hidden": "true" });
  // Beside the bar, on the side with more room, so that it does not cover what it explains.
  const share = range.from / (trace.wall_ns || 1);
  glass.classList.toggle("jsp-glass-left", share > 0.5);
  glass.style[share > 0.5 ? "right" : "left"] =
    `${((share > 0.5 ? 1 - share : share) * 100).toFixed(2)}%`;
  return glass;
}
