/**
 * The rows of a waterfall in the blocks of its document: one for each of several computations, and
 * one for the stages that are parts of another stage. A block owns nothing itself.
 */

import type { DrawnTrace, Group, Heading, Row, Stage } from "../document/document";
import { count } from "../document/format";
import { densityOf, joined, type Piece, piecesOf } from "./critical";

export interface RowNode {
  readonly kind: "row";
  readonly row: Row;
  /** Index in the rows of the document. */
  readonly position: number;
  /** The rest of the stage whose parts stand beside it. */
  readonly isRest: boolean;
}

export interface BlockNode {
  readonly kind: "stage" | "group" | "more";
  readonly title: string;
  /** The stage whose parts these are; null for a computation, and for stages that took little. */
  readonly stage: Stage | null;
  /** From when to when a computation ran. */
  readonly extent: Piece | null;
  /** What its rows own together. */
  readonly self_ns: number;
  readonly nodes: Node[];
  readonly isOpen: boolean;
}

export type Node = RowNode | BlockNode;

/** With more rows the parts of a stage are folded, whatever they took. */
const MOST_OPEN_ROWS = 12;
/** What took less of the wall time is folded, and where no part took so much. */
const [SMALL_SHARE, TOLD_SHARE] = [0.05, 0.01];

/** What stands below what, as the document says; without that the rows one after the other. */
export function outlineOf(trace: DrawnTrace): Node[] {
  const { rows, outline } = trace.waterfall;
  return (outline ?? [...rows.keys()]).map((line) => nodeOf(trace, line, null));
}

/** The stage that this one is a part of, when it is told; null where it is none. */
export function parentOf(trace: DrawnTrace, stage: number): Stage | null {
  const own = trace.stages[stage];
  return trace.stages.find((each) => each !== own && each.key === own?.parent) ?? null;
}

function nodeOf(trace: DrawnTrace, line: number | Heading, above: number | null): Node {
  if (typeof line === "number") {
    const row = trace.waterfall.rows[line] as Row;
    return { kind: "row", row, position: line, isRest: row.stage === above };
  }
  const { self_ns } = line;
  const isMore = line.stage === undefined && line.group === undefined;
  const nodes = line.inside.map((each) =>
    nodeOf(trace, each, isMore ? above : (line.stage ?? null)),
  );
  if (isMore) {
    const title = `${count(nodes.length)} more ${above === null ? "stages" : "parts"}`;
    return { kind: "more", title, stage: null, extent: null, self_ns, nodes, isOpen: false };
  }
  const isFew = trace.waterfall.rows.length <= MOST_OPEN_ROWS;
  const most = Math.max(...nodes.map(ownOf)) >= trace.wall_ns * TOLD_SHARE;
  const isOpen = isFew && most && self_ns >= trace.wall_ns * SMALL_SHARE;
  const own = { self_ns, nodes, isOpen };
  const group = trace.groups?.[line.group ?? -1];
  if (group !== undefined) {
    return { ...own, kind: "group", title: group.title, stage: null, extent: extentOf(group) };
  }
  const stage = trace.stages[line.stage ?? -1] as Stage;
  return { ...own, kind: "stage", title: stage.title, stage, extent: null };
}

function extentOf({ start_ns, end_ns }: Group): Piece | null {
  return Number.isFinite(start_ns) && end_ns >= start_ns ? [start_ns, end_ns - start_ns] : null;
}

/** The rows below a node, in order. */
export function rowsIn(node: Node): RowNode[] {
  return node.kind === "row" ? [node] : node.nodes.flatMap(rowsIn);
}

/** One entry for each stage with all its parts, and for those that took little. */
export function stagesIn(nodes: readonly Node[]): Node[] {
  return nodes.flatMap((node) => (node.kind === "group" ? stagesIn(node.nodes) : [node]));
}

export function ownOf(node: Node): number {
  return node.kind === "row" ? node.row.self_ns : node.self_ns;
}

/** The stretches of rows, and the part of them that they own. */
export function coverOf(nodes: readonly RowNode[]): { pieces: Piece[]; density: number } {
  const pieces = joined(nodes.flatMap(({ row }) => piecesOf(row)));
  const own = nodes.reduce((sum, { row }) => sum + row.self_ns, 0);
  return { pieces, density: densityOf(own, pieces) };
}

/** The rows of a stage as one; bytes that pass through one part after the other count once. */
export function wholeOf(nodes: readonly RowNode[]): Row {
  const rows = nodes.map(({ row }) => row);
  const sizes = (own: readonly RowNode[]): number[] =>
    own.flatMap(({ row }) => row.size_bytes ?? []);
  const own = sizes(nodes.filter(({ isRest }) => isRest));
  const known = own.length > 0 ? own : sizes(nodes);
  const faults = rows.flatMap((row) => row.minor_faults ?? []);
  return {
    ...(rows.toSorted((a, b) => b.self_ns - a.self_ns)[0] as Row),
    busy_ns: rows.reduce((sum, row) => sum + row.busy_ns, 0),
    size_bytes: known.length > 0 ? Math.max(...known) : null,
    minor_faults: faults.length > 0 ? faults.reduce((sum, each) => sum + each, 0) : null,
  };
}

/** The computation that an instant belongs to: the last one that began. */
export function groupAt(trace: DrawnTrace, time: number): number | null {
  const groups = trace.groups ?? [];
  const held = [...groups.keys()].filter((at) => {
    const group = groups[at] as Group;
    return group.start_ns <= time && time < group.end_ns;
  });
  const begin = (at: number): number => groups[at]?.start_ns ?? 0;
  return held.toSorted((a, b) => begin(b) - begin(a))[0] ?? null;
}
