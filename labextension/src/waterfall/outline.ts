/**
 * The rows of a waterfall in blocks: a block for each of several computations, and one for the
 * stages that are parts of another stage. A block owns nothing itself: its sums are those of its rows.
 */

import type { DrawnTrace, Group, Row, Stage } from "../document/document";
import { type Piece, piecesOf } from "./critical";

export interface RowNode {
  readonly kind: "row";
  readonly row: Row;
  /** Index in the rows of the document. */
  readonly position: number;
  /** The rest of the stage whose parts stand beside it. */
  readonly isRest: boolean;
}

export interface BlockNode {
  readonly kind: "stage" | "group";
  readonly title: string;
  /** The stage whose parts these are; null for a computation. */
  readonly stage: Stage | null;
  /** From when to when a computation ran. */
  readonly extent: Piece | null;
  readonly nodes: Node[];
  readonly isOpen: boolean;
}

export type Node = RowNode | BlockNode;

/** With more rows the parts of a stage are folded, whatever they took. */
const MOST_OPEN_ROWS = 12;
/** What took less of the wall time is folded. */
const SMALL_SHARE = 0.05;

export function outlineOf(trace: DrawnTrace): Node[] {
  const rows = trace.waterfall.rows.map((row, position) => ({ row, position }));
  return [...grouped(rows, ({ row }) => groupOf(trace, row))].flatMap(([at, members]) => {
    const nodes = stageNodes(trace, members);
    const group = at === null ? undefined : trace.groups?.[at];
    return group === undefined ? nodes : [groupNode(trace, group, nodes)];
  });
}

/** The stage that this one is a part of; one without spans may be known by its key alone. */
export function parentOf(trace: DrawnTrace, stage: number): Stage | null {
  const own = trace.stages[stage];
  const key = String(own?.parent ?? "");
  if (own === undefined || key === "" || key === own.key) {
    return null;
  }
  const last = key.slice(key.lastIndexOf(".") + 1);
  const title = last.slice(0, 1).toUpperCase() + last.slice(1);
  return trace.stages.find((each) => each.key === key) ?? { ...own, key, title };
}

/** The rows below a node, in order. */
export function rowsIn(node: Node): RowNode[] {
  return node.kind === "row" ? [node] : node.nodes.flatMap(rowsIn);
}

/** One entry for each stage with all its parts: what a reader sees first of a waterfall. */
export function stagesIn(nodes: readonly Node[]): Node[] {
  return nodes.flatMap((node) => (node.kind === "group" ? stagesIn(node.nodes) : [node]));
}

export function ownOf(node: Node): number {
  return rowsIn(node).reduce((sum, { row }) => sum + row.self_ns, 0);
}

/** The stretches of all rows of a node, and the part of them that they own. */
export function coverOf(node: Node): { pieces: Piece[]; density: number } {
  const pieces = joined(rowsIn(node).flatMap(({ row }) => piecesOf(row)));
  const covered = pieces.reduce((sum, [, length]) => sum + length, 0);
  return { pieces, density: covered > 0 ? Math.min(1, ownOf(node) / covered) : 1 };
}

function joined(pieces: readonly Piece[]): Piece[] {
  const out: [number, number][] = [];
  for (const [start, length] of pieces.toSorted((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last !== undefined && start <= last[0] + last[1]) {
      last[1] = Math.max(last[1], start + length - last[0]);
    } else {
      out.push([start, length]);
    }
  }
  return out;
}

type Member = Pick<RowNode, "row" | "position">;

function stageNodes(trace: DrawnTrace, members: readonly Member[]): Node[] {
  const parents = new Set(members.map(({ row }) => parentOf(trace, row.stage)?.key));
  const headOf = ({ row }: Member): Stage | null => {
    const own = trace.stages[row.stage] as Stage;
    return parents.has(own.key) ? own : parentOf(trace, row.stage);
  };
  const blocks = grouped(members, (member) => headOf(member)?.key ?? member);
  return [...blocks.values()].flatMap<Node>((parts) => {
    const head = headOf(parts[0] as Member);
    const nodes = parts.map((part) => ({
      kind: "row" as const,
      ...part,
      isRest: trace.stages[part.row.stage]?.key === head?.key,
    }));
    return head === null ? nodes : [stageNode(trace, head, nodes)];
  });
}

function stageNode(trace: DrawnTrace, stage: Stage, nodes: Node[]): BlockNode {
  const node = { kind: "stage", title: stage.title, stage, extent: null, nodes } as const;
  const isShort = trace.waterfall.rows.length <= MOST_OPEN_ROWS;
  return { ...node, isOpen: isShort && !isSmall(trace, nodes) };
}

function groupNode(trace: DrawnTrace, group: Group, nodes: Node[]): BlockNode {
  const { title, start_ns, end_ns } = group;
  const isKnown = Number.isFinite(start_ns) && end_ns >= start_ns;
  const extent: Piece | null = isKnown ? [start_ns, end_ns - start_ns] : null;
  const isShort = trace.waterfall.rows.length <= MOST_OPEN_ROWS;
  const isOpen = isShort || !isSmall(trace, nodes);
  return { kind: "group", title, stage: null, extent, nodes, isOpen };
}

function isSmall(trace: DrawnTrace, nodes: readonly Node[]): boolean {
  return nodes.reduce((sum, node) => sum + ownOf(node), 0) < trace.wall_ns * SMALL_SHARE;
}

function groupOf(trace: DrawnTrace, row: Row): number | null {
  return row.group != null && trace.groups?.[row.group] !== undefined ? row.group : null;
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

function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}
