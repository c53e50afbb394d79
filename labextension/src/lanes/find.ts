/** Questions about many spans: which match some words, and what an area sums to. */

import { bytes, count, duration } from "../document/format";
import type { TraceDocument } from "../document/schema";
import { button, element } from "../kit/dom";
import { swatch } from "../kit/marks";
import type { Range } from "../kit/scale";
import { ascending, firstAbove } from "../kit/sort";
import { familyOf } from "../kit/theme";
import type { Lanes } from "./lanes";
import { type Index, type Track, WAIT } from "./tracks";

/** One byte for each position: does its stage, name or lane contain the words? */
export function matches(trace: TraceDocument, index: Index, words: string): Uint8Array {
  const wanted = words.trim().toLowerCase();
  const has = (text: unknown): boolean => String(text).toLowerCase().includes(wanted);
  // Text is compared once for each distinct one, not for each span.
  const names = (trace.strings ?? []).map(has);
  const stages = (trace.stages ?? []).map((stage) => has(stage.title) || has(stage.key));
  const lanes = (trace.lanes ?? []).map((lane) => has(lane.key));
  const { columns } = index;
  const found = new Uint8Array(index.span.length);
  for (let at = 0; at < found.length; at += 1) {
    const span = index.span[at] as number;
    const isFound =
      names[columns.name[span] as number] ||
      stages[columns.stage[span] as number] ||
      lanes[columns.lane[span] as number];
    found[at] = isFound ? 1 : 0;
  }
  return found;
}

/** Positions in the order of time. */
export function inTime(index: Index, wanted: Uint8Array | null): Int32Array {
  const kept = new Int32Array(index.span.length);
  let count = 0;
  for (let at = 0; at < kept.length; at += 1) {
    if (wanted === null || wanted[at] === 1) {
      kept[count] = at;
      count += 1;
    }
  }
  const starts = new Float64Array(count);
  for (let at = 0; at < count; at += 1) {
    starts[at] = index.start[kept[at] as number] as number;
  }
  return ascending(starts).map((at) => kept[at] as number);
}

/** The span at a time on a track, or the nearest one within `slack_ns`. */
export function hit(index: Index, track: Track, time: number, slackNs: number): number | null {
  const at = firstAbove(index.reach, time - slackNs, track.from, track.to);
  let best: number | null = null;
  let distance = Number.POSITIVE_INFINITY;
  for (let each = at; each < Math.min(track.to, at + 64); each += 1) {
    const start = index.start[each] as number;
    if (start > time + slackNs) {
      break;
    }
    const away = Math.max(0, start - time, time - (index.end[each] as number));
    if (away <= slackNs && away < distance) {
      [best, distance] = [each, away];
    }
  }
  return best;
}

export interface AreaSum {
  readonly stage: number;
  readonly count: number;
  /** Clipped to the area, ns; nested spans of one stage count as often as they are nested. */
  readonly busy_ns: number;
  readonly bytes: number;
}

/** What lies within a range on some tracks, by stage, longest first; waits are left out. */
export function areaSums(index: Index, tracks: readonly Track[], range: Range): AreaSum[] {
  const sums = new Map<number, { count: number; busy_ns: number; bytes: number }>();
  for (const track of tracks) {
    let at = firstAbove(index.reach, range.from, track.from, track.to);
    for (; at < track.to && (index.start[at] as number) < range.to; at += 1) {
      const inside =
        Math.min(index.end[at] as number, range.to) -
        Math.max(index.start[at] as number, range.from);
      if (index.kind[at] === WAIT || inside < 0) {
        continue;
      }
      const span = index.span[at] as number;
      const stage = index.columns.stage[span] as number;
      const sum = sums.get(stage) ?? { count: 0, busy_ns: 0, bytes: 0 };
      sum.count += 1;
      sum.busy_ns += inside;
      sum.bytes += index.columns.size[span] || 0;
      sums.set(stage, sum);
    }
  }
  return [...sums]
    .map(([stage, sum]) => ({ stage, ...sum }))
    .toSorted((a, b) => b.busy_ns - a.busy_ns);
}

// Sums of a marked area of the lanes.
const MOST_STAGES = 8;

export function areaPanel(view: Lanes, area: Range): HTMLElement {
  const { trace, index } = view.state;
  const sums = areaSums(index, index.tracks, area);
  const rows = sums.slice(0, MOST_STAGES).map((sum) => {
    const stage = trace.stages[sum.stage];
    const title = String(stage?.title ?? "Unknown stage");
    return element(
      "tr",
      "",
      element("th", "jsp-stage", swatch(familyOf(stage?.family)), title),
      element("td", "jsp-number", `×${count(sum.count)}`),
      element("td", "jsp-number", duration(sum.busy_ns)),
      element("td", "jsp-number", sum.bytes > 0 ? bytes(sum.bytes) : "–"),
    );
  });
  const title = `${duration(area.to - area.from)} from ${duration(area.from)}: work in this area, nested spans in full`;
  const pressed = (): void => {
    view.mark(null);
    view.canvas.focus();
  };
  const close = button("jsp-button", pressed, "Close");
  const rest = sums.length - rows.length;
  return element(
    "div",
    "",
    element("p", "jsp-area-title", element("span", "", title), close),
    rows.length === 0
      ? element("p", "jsp-note", "No work in this area.")
      : element("table", "jsp-table jsp-sums", element("tbody", "", ...rows)),
    rest > 0 ? element("p", "jsp-note", `and ${count(rest)} smaller stages`) : null,
  );
}
