/** A row of the waterfall opens: what the stage contains, and its spans by name. */

import type { Stage } from "../document/document";
import * as format from "../document/format";
import { openByRow, twisty } from "../kit/controls";
import { element, having, whyLink } from "../kit/dom";
import type { Child as ChildRow } from "./children";
import { barText, type Column, inUnit } from "./columns";
import { indent, line, type Scene } from "./line";
import { piecesPlot } from "./plot";

/** Further names are one line together. */
const MOST_CHILDREN = 6;

/** Gives the rows that stand below it while it is open. */
export function openable(
  scene: Scene,
  row: HTMLTableRowElement,
  stage: Stage,
  depth: number,
  childrenOf: () => Promise<readonly ChildRow[]>,
): () => readonly HTMLElement[] {
  let opened: HTMLElement[] = [];
  const button = twisty(`What ${stage.title} consists of`, false, async () => {
    // Inflating the spans of a long trace takes a moment, so it waits until somebody asks.
    const children = button.isOpen() ? await childrenOf() : [];
    for (const node of opened) {
      node.remove();
    }
    opened = button.isOpen() ? rowsOf(scene, stage, children) : [];
    for (const node of opened) {
      indent(node, depth + 1);
    }
    row.after(...opened);
    scene.refresh();
  });
  openByRow(row, button);
  return () => opened;
}

function rowsOf(scene: Scene, stage: Stage, children: readonly ChildRow[]): HTMLElement[] {
  const shown = children.slice(0, MOST_CHILDREN);
  const hidden = children.slice(MOST_CHILDREN);
  const rows = shown.map((child) => childRow(scene, stage, child));
  if (hidden.length > 0) {
    rows.push(childRow(scene, stage, together(hidden)));
  }
  const note = stage.note ? [noteRow(scene, `Contains: ${stage.note} `, stage)] : [];
  const none = [noteRow(scene, "No finer steps were recorded.")];
  return note.length + rows.length > 0 ? [...note, ...rows] : none;
}

function together(children: readonly ChildRow[]): ChildRow {
  const sum = (value: (child: ChildRow) => number): number =>
    children.reduce((total, child) => total + value(child), 0);
  const names = children.slice(0, 2).map((child) => child.name);
  return {
    name: `${format.count(children.length)} more: ${names.join(", ")}`,
    count: sum((child) => child.count),
    busy_ns: sum((child) => child.busy_ns),
    size_bytes: null,
    pieces: children.flatMap((child) => child.pieces).toSorted((a, b) => a[0] - b[0]),
    density: 1,
  };
}

function childRow(scene: Scene, stage: Stage, child: ChildRow): HTMLElement {
  const { trace, columns } = scene;
  const times =
    child.count > 1 ? element("span", "jsp-count", `×${format.count(child.count)}`) : null;
  const own = child.count === 1 && child.busy_ns > 0;
  const texts = own ? [barText(scene, inUnit(trace.wall_ns, child.busy_ns))] : [];
  const plot = piecesPlot(scene, stage, child.pieces, child.density, texts);
  const name = element("span", "jsp-stage-name", child.name, times);
  const textOf = (column: Column): string => childText(scene, stage, column, child);
  const node = line([name], plot.node, columns, textOf);
  node.classList.add("jsp-child");
  return node;
}

/** Children are parts of the work; the wall time has its owner in the row above. */
function childText({ trace }: Scene, { waits }: Stage, column: Column, child: ChildRow): string {
  if (column.name === "busy" && !waits) {
    return inUnit(trace.wall_ns, child.busy_ns);
  }
  return column.name === "bytes" && child.size_bytes !== null
    ? format.bytes(child.size_bytes)
    : format.NOT_APPLICABLE;
}

function noteRow(scene: Scene, note: string, stage?: Stage): HTMLElement {
  const page = stage ? whyLink(stage.title, stage.page) : null;
  const colspan = 3 + scene.columns.length;
  const cell = having(element("td", "jsp-state", note, page), { colspan });
  return element("tr", "jsp-child jsp-row-note", cell);
}
