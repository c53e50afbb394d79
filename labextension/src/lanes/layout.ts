/** Where lanes and their tracks stand: the layout of the Lanes view. */

import type { TraceDocument } from "../document/schema";
import { grouped } from "../kit/sort";
import type { Strip } from "./paint";
import type { Index } from "./tracks";

export const TRACK_HEIGHT = 24;
export const BAR_HEIGHT = 19;
const LANE_PADDING = 5;
/** A lane with a second line of text below its name needs so much, px. */
const TWO_LINES = 34;

export interface LaneRow {
  readonly lane: number;
  /** The process; lanes of one process that follow each other share it. */
  readonly title: string;
  /** The thread or what else tells lanes of a process apart; "" for the only lane. */
  readonly part: string;
  /** The first lane of its process: the others need not repeat name and clock error. */
  readonly isFirst: boolean;
  readonly error_ns: number;
  readonly y: number;
  readonly height: number;
  readonly strips: readonly Strip[];
}

export interface LaneLayout {
  readonly rows: readonly LaneRow[];
  readonly height: number;
}

export function stripsOf(rows: readonly LaneRow[]): Strip[] {
  return rows.flatMap((row) => row.strips);
}

/** Where the span at a position stands; undefined where its row is not among these. */
export function stripOf(rows: readonly LaneRow[], position: number | null): Strip | undefined {
  return stripsOf(rows).find(
    ({ track }) => position !== null && position >= track.from && position < track.to,
  );
}

/** Lanes of one process stay together, processes of one kind in the order of the document. */
export function layoutLanes(trace: TraceDocument, index: Index): LaneLayout {
  const rows: LaneRow[] = [];
  let y = 0;
  const order = laneOrder(trace);
  const shared = sharedTitles(trace, order);
  for (const lane of order) {
    const row = laneRow(trace, index, lane, y, shared, rows.at(-1));
    rows.push(row);
    y += row.height;
  }
  return { rows, height: y };
}

/** The road goes from the client over the scheduler to the workers. */
const ROAD = ["client", "scheduler", "", "worker"];

function laneOrder(trace: TraceDocument): number[] {
  const lanes = trace.lanes ?? [];
  const processes = grouped([...lanes.keys()], (lane) => splitKey(lanes[lane]?.key)[0]);
  const place = ([first]: number[]): number => {
    const at = ROAD.indexOf(String(lanes[first ?? 0]?.kind ?? ""));
    return at < 0 ? ROAD.indexOf("") : at;
  };
  return [...processes.values()].toSorted((a, b) => place(a) - place(b)).flat();
}

function laneRow(
  trace: TraceDocument,
  index: Index,
  lane: number,
  y: number,
  shared: ReadonlySet<string>,
  before: LaneRow | undefined,
): LaneRow {
  const own = index.tracks.filter((track) => track.lane === lane);
  const strips = own.map((track, level) => ({
    track,
    y: y + LANE_PADDING + level * TRACK_HEIGHT,
    height: BAR_HEIGHT,
  }));
  const { key, clock_error_ns: error_ns = 0 } = trace.lanes[lane] ?? { key: "" };
  const names = namesOf(key, shared);
  const isFirst = before?.title !== names.title || before.error_ns !== error_ns;
  const levels = Math.max(1, strips.length) * TRACK_HEIGHT;
  const height = Math.max(levels, error_ns > 0 && isFirst ? TWO_LINES : 0) + LANE_PADDING * 2 - 2;
  return { lane, ...names, isFirst, error_ns, y, height, strips };
}

/** Beginnings that several lanes have in common: "worker 0" of "worker 0/thread 1". */
function sharedTitles(trace: TraceDocument, order: readonly number[]): ReadonlySet<string> {
  const lanes = grouped(order, (lane) => splitKey(trace.lanes[lane]?.key)[0]);
  return new Set([...lanes].filter(([, own]) => own.length > 1).map(([title]) => title));
}

function splitKey(key: unknown): [string, string] {
  const text = String(key ?? "") || "lane";
  const at = text.indexOf("/");
  return at < 1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function namesOf(key: unknown, shared: ReadonlySet<string>): { title: string; part: string } {
  const [title, part] = splitKey(key);
  return shared.has(title) || part === ""
    ? { title, part }
    : { title: `${title} / ${part}`, part: "" };
}

/** The rows that a viewport shows. */
export function visibleRows(layout: LaneLayout, top: number, height: number): LaneRow[] {
  return layout.rows.filter((row) => row.y + row.height > top && row.y < top + height);
}
