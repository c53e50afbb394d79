/** What is drawn across the rows: the critical path, its hand-overs, and clock uncertainty. */

import type { DrawnTrace } from "../document/document";
import { path, shape } from "../kit/dom";
import { handovers, type Owned, ownersOf } from "./critical";
import { rowsIn } from "./outline";
import type { Entry } from "./rows";

export interface PathOver {
  readonly node: SVGElement;
  /** Entries whose rows are on the page; folded rows are stood for by their block. */
  paint(entries: readonly Entry[]): void;
}

/** Where a row draws: its time column, px from the corner of the table. */
export interface Box {
  readonly left: number;
  readonly width: number;
  readonly top: number;
}

/** The line under a bar, px below the top of its row. */
const UNDER = 23;
const MIDDLE = 13;
/** Shorter stretches get no hand-over of their own, px. */
const LEAST_PX = 1.5;

export function pathOver(trace: DrawnTrace): PathOver {
  const owned = ownersOf(trace.waterfall.rows);
  const node = shape("svg", { class: "jsp-over", "aria-hidden": "true" });
  return {
    node,
    paint(entries) {
      const corner = node.getBoundingClientRect();
      const boxes = new Map<number, Box>();
      for (const { positions, entry } of shownLines(entries)) {
        const { left, top, width } = entry.plot.node.getBoundingClientRect();
        const box = { left: left - corner.left, top: top - corner.top, width };
        for (const position of width > 0 ? positions : []) {
          boxes.set(position, box);
        }
      }
      node.replaceChildren(...marksOf(trace, owned, boxes));
    },
  };
}

function shownLines(entries: readonly Entry[]): { positions: number[]; entry: Entry }[] {
  return entries.flatMap((entry) =>
    entry.isOpen()
      ? shownLines(entry.entries)
      : [{ positions: rowsIn(entry.node).map(({ position }) => position), entry }],
  );
}

export function marksOf(
  trace: DrawnTrace,
  owned: readonly Owned[],
  boxes: ReadonlyMap<number, Box>,
): SVGElement[] {
  const [first] = boxes.values();
  if (first === undefined || owned.length < 2) {
    return [];
  }
  const wall = trace.wall_ns || 1;
  const x = (ns: number): number => first.left + Math.min(1, Math.max(0, ns / wall)) * first.width;
  const topOf = (position: number): number => boxes.get(position)?.top ?? 0;
  const under = owned.map((each) => {
    const [from, to] = [x(each.from_ns), x(each.to_ns)];
    return `M${from.toFixed(1)} ${topOf(each.position) + UNDER}h${Math.max(1, to - from).toFixed(1)}`;
  });
  const least = (LEAST_PX / first.width) * wall;
  const down = handovers(owned, topOf, least).map(
    ({ time_ns, from, to }) => `M${x(time_ns).toFixed(1)} ${from + UNDER}V${to + UNDER}`,
  );
  const whiskers = [...boxes].flatMap(([position, { top }]) => whiskerOf(trace, position, top, x));
  return [
    path("jsp-handover", down.join("")),
    path("jsp-under", under.join("")),
    path("jsp-error-bar", whiskers.join("")),
  ];
}

/** How far the clock of the lane may be off, at the beginning of its bar; from 1 px each side on. */
function whiskerOf(
  trace: DrawnTrace,
  position: number,
  top: number,
  x: (ns: number) => number,
): string[] {
  const row = trace.waterfall.rows[position];
  const error = trace.lanes[row?.lane ?? -1]?.clock_error_ns ?? 0;
  if (row === undefined || x(error) - x(0) < 1) {
    return [];
  }
  const start = row.pieces?.[0]?.[0] ?? row.start_ns;
  const [from, to] = [x(start - error), x(start + error)];
  const y = top + MIDDLE;
  return [`M${from} ${y}H${to}M${from} ${y - 4}v8M${to} ${y - 4}v8`];
}
