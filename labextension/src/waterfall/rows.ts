/** The rows of a waterfall, and the blocks that fold. */

import type { DrawnTrace, Row, Stage } from "../document/document";
import * as format from "../document/format";
import { element, titled } from "../kit/dom";
import { chip, swatch } from "../kit/marks";
import { familyOf } from "../kit/theme";
import { openByRow, twisty } from "../kit/twisty";
import type { Child as ChildRow } from "./children";
import { ghostRows } from "./ghost";
import { indent, line, type Scene } from "./line";
import { magnified } from "./magnifier";
import { openable } from "./open";
import { type BlockNode, coverOf, type Node, ownOf, type RowNode, rowsIn } from "./outline";
import { extentPlot, type Plot, piecesPlot, rowPlot } from "./plot";

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
  return own as Stage;
}

function rowEntry(scene: Scene, node: RowNode, depth: number, childrenOf: ChildrenOf): Entry {
  const { trace, columns, guide } = scene;
  const { row, position } = node;
  const stage = stageOf(trace, node);
  const times = row.count > 1 ? element("span", "jsp-count", `×${format.count(row.count)}`) : null;
  const plot = rowPlot(trace, row, stage, guide);
  scene.plots.push(plot);
  const title = node.isRest ? "itself" : stage.title;
  const name = titled(element("span", "jsp-stage-name", title, times), title);
  const tr = line([swatch(familyOf(stage.family)), name], plot.node, columns, (column) =>
    column.text(row, position),
  );
  const lane = trace.lanes[row.lane];
  if (lane !== undefined) {
    const error = lane.clock_error_ns ? `, clock ±${format.duration(lane.clock_error_ns)}` : "";
    const place = titled(chip(String(lane.kind || lane.key)), `${lane.key}${error}`);
    tr.querySelector(".jsp-lane")?.append(place);
  }
  indent(tr, depth);
  magnified(trace, tr, plot, stage);
  const opened = openable(scene, tr, stage, depth, () => childrenOf(row));
  const ghosts = node.isRest ? [] : ghostRows(scene, stage, row.start_ns, depth + 1);
  return { node, row: tr, plot, ghosts, entries: [], isOpen: () => false, opened };
}

function blockEntry(scene: Scene, node: BlockNode, depth: number, childrenOf: ChildrenOf): Entry {
  const { columns } = scene;
  const plot = blockPlot(scene, node);
  scene.plots.push(plot);
  const mark = node.stage === null ? null : swatch(familyOf(node.stage.family));
  const name = titled(element("span", "jsp-stage-name", node.title), node.title);
  const tr = line([mark, name], plot.node, columns, (column) => column.sum(rowsIn(node)));
  tr.classList.add(`jsp-block-${node.kind}`);
  indent(tr, depth);
  const fold = twisty(`Rows of ${node.title}`, node.isOpen, scene.refresh);
  openByRow(tr, fold);
  const entries = node.nodes.map((each) => entryOf(scene, each, depth + 1, childrenOf));
  if (node.kind === "stage") {
    for (const { row } of entries) {
      row.classList.add("jsp-part");
    }
  }
  const start = coverOf(node).pieces[0]?.[0] ?? 0;
  const ghosts = node.stage === null ? [] : ghostRows(scene, node.stage, start, depth + 1);
  return { node, row: tr, plot, ghosts, entries, isOpen: fold.isOpen, opened: () => [] };
}

function blockPlot({ trace, guide }: Scene, node: BlockNode): Plot {
  if (node.stage === null) {
    return extentPlot(trace, node.extent, guide);
  }
  const { pieces, density } = coverOf(node);
  const own = ownOf(node);
  return piecesPlot(
    trace,
    node.stage,
    pieces,
    density,
    own > 0 ? [format.duration(own)] : [],
    guide,
  );
}
