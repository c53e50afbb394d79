/** Compare: two documents stage by stage; what changed, and whether that can be told. */

import { difference, FEWEST_REPEATS } from "../core/difference";
import {
  type DrawnTrace,
  hasWaterfall,
  type ReadDocument,
  type SerprofDocument,
  type SweepDocument,
} from "../core/document";
import { element, titled } from "../core/dom";
import * as format from "../core/format";
import type { GridColumn } from "../core/grid";
import type { Host } from "../core/host";
import { familyOf } from "../core/theme";
import { middleAt } from "../core/times";
import { grid } from "./grid";
import { bar, swatch } from "./marks";
import type { Shell } from "./shell";

/** One line: the times of a stage in both documents, one for each repeat. */
export interface Pair {
  readonly title: string;
  readonly family: string;
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly isTotal: boolean;
}

export function compareShell(
  root: HTMLElement,
  before: ReadDocument,
  after: ReadDocument,
  _host: Host,
): Shell {
  const [one, other] = [before.document, after.document];
  const title = element("p", "jsp-headline", headlineOf(one, other));
  title.setAttribute("role", "heading");
  title.setAttribute("aria-level", "3");
  const facts = element(
    "p",
    "jsp-facts",
    element("span", "", `before: ${one.name || "unnamed"}, ${format.moment(one.started)}`),
    element("span", "", `after: ${other.name || "unnamed"}, ${format.moment(other.started)}`),
  );
  const groups = groupsOf(one, other);
  const nothing = "Nothing in these documents can be compared: they share no variant and size.";
  const warnings = [before.warning, after.warning]
    .filter((warning) => warning !== null)
    .map((warning) => element("p", "jsp-outcome", warning));
  const bodies = groups.map(({ name, pairs }) => groupOf(name, pairs, _host));
  root.replaceChildren(
    element("div", "jsp-head", title, facts, ...warnings),
    ...(bodies.length === 0 ? [element("p", "jsp-note", nothing)] : bodies),
  );
  return { destroy: () => root.replaceChildren() };
}

function headlineOf(one: SerprofDocument, other: SerprofDocument): string {
  if (one.format === "serprof.trace" && other.format === "serprof.trace") {
    const change = other.wall_ns - one.wall_ns;
    const direction = change < 0 ? "less" : "more";
    return change === 0
      ? `${format.duration(one.wall_ns)} before and after`
      : `${format.duration(one.wall_ns)} before, ${format.duration(other.wall_ns)} after: ${format.duration(Math.abs(change))} ${direction}`;
  }
  return `${one.name || "before"} and ${other.name || "after"}, variant by variant`;
}

interface Group {
  readonly name: string;
  readonly pairs: readonly Pair[];
}

function groupsOf(one: SerprofDocument, other: SerprofDocument): Group[] {
  if (one.format === "serprof.trace" && other.format === "serprof.trace") {
    return [{ name: "", pairs: tracePairs(one, other) }];
  }
  return one.format === "serprof.sweep" && other.format === "serprof.sweep"
    ? sweepGroups(one, other)
    : [];
}

export function tracePairs(one: DrawnTrace, other: DrawnTrace): Pair[] {
  const wall: Pair = {
    title: "Wall time",
    family: "",
    before: [one.wall_ns],
    after: [other.wall_ns],
    isTotal: true,
  };
  if (!hasWaterfall(one) || !hasWaterfall(other)) {
    return [wall];
  }
  const [before, after] = [ownTimes(one), ownTimes(other)];
  const stages = stagesByKey([one, other]);
  const pairs = [...stages].map(([key, { title, family }]) => ({
    title,
    family,
    before: [before.get(key) ?? 0],
    after: [after.get(key) ?? 0],
    isTotal: false,
  }));
  const rest = (trace: DrawnTrace): number[] => [trace.waterfall.unaccounted_ns];
  return [
    ...pairs.filter((pair) => (pair.before[0] ?? 0) + (pair.after[0] ?? 0) > 0),
    {
      title: "Unaccounted",
      family: "unaccounted",
      before: rest(one),
      after: rest(other),
      isTotal: false,
    },
    wall,
  ];
}

function ownTimes(trace: DrawnTrace): Map<string, number> {
  const times = new Map<string, number>();
  for (const row of trace.waterfall.rows) {
    const key = String(trace.stages[row.stage]?.key ?? "");
    times.set(key, (times.get(key) ?? 0) + row.self_ns);
  }
  return times;
}

/** Stages of several traces in the order of the road. */
function stagesByKey(traces: readonly DrawnTrace[]) {
  const all = traces.flatMap((trace) => trace.stages);
  const ordered = all.toSorted((a, b) => (a.order ?? 0) - (b.order ?? 0));
  return new Map(
    ordered.map((stage) => [
      String(stage.key),
      { title: String(stage.title), family: familyOf(stage.family) as string },
    ]),
  );
}

/** Warm runs of the same variant and size; cold runs are one each, so nothing could be told. */
export function sweepGroups(one: SweepDocument, other: SweepDocument): Group[] {
  const traces = [...one.traces, ...other.traces].map((entry) => entry.trace as DrawnTrace);
  const stages = stagesByKey(traces);
  return one.variants.flatMap((variant) =>
    sizesIn(one, variant.key).flatMap((size) => {
      const [before, after] = [one, other].map((doc) => warmPoints(doc, variant.key, size));
      if (!before?.length || !after?.length) {
        return [];
      }
      const keys = [...stages.keys()].filter((key) =>
        [...before, ...after].some((point) => (point.stages[key] ?? 0) > 0),
      );
      const times = (points: typeof before, key: string): number[] =>
        points.map((point) => point.stages[key] ?? 0);
      const pairs = keys.map((key) => ({
        title: stages.get(key)?.title ?? key,
        family: stages.get(key)?.family ?? "other",
        before: times(before, key),
        after: times(after, key),
        isTotal: false,
      }));
      const walls = (points: typeof before): number[] => points.map((point) => point.wall_ns);
      const total = { before: walls(before), after: walls(after), isTotal: true, family: "" };
      const name = `${variant.title ?? variant.key}, ${format.bytes(size)}, warm`;
      return [{ name, pairs: [...pairs, { ...total, title: "Wall time" }] }];
    }),
  );
}

function sizesIn(doc: SweepDocument, variant: string): (number | null)[] {
  const points = doc.points.filter((point) => point.variant === variant);
  return [...new Set(points.map((point) => point.size_bytes))];
}

function warmPoints(doc: SweepDocument, variant: string, size: number | null) {
  return doc.points.filter(
    (point) => point.variant === variant && point.size_bytes === size && !point.cold,
  );
}

function groupOf(name: string, pairs: readonly Pair[], host: Host): HTMLElement {
  const longest = Math.max(
    1,
    ...pairs.map((pair) => Math.max(median(pair.before), median(pair.after))),
  );
  const lines = pairs.map((pair) => lineOf(pair, longest));
  const heads = [
    "Stage",
    "before and after",
    "before",
    "after",
    "change",
    "95 % interval",
    "verdict",
  ].map((title, at) => element("th", at < 2 ? "jsp-stage" : "jsp-number", title));
  const few = pairs.some(
    (pair) => Math.min(pair.before.length, pair.after.length) < FEWEST_REPEATS,
  );
  const note = few
    ? `One run on a side says nothing about chance: from ${FEWEST_REPEATS} repeats on each side there is an interval.`
    : "Interval: Hodges-Lehmann shift between the repeats, Mann-Whitney, 95 %.";
  const table = element(
    "table",
    "jsp-table jsp-compare-table",
    element("caption", "jsp-hidden", name || "Stages before and after"),
    element("thead", "", element("tr", "", ...heads)),
    element("tbody", "", ...lines),
  );
  const copy = element(
    "details",
    "jsp-more",
    element("summary", "", "As a table to sort and copy"),
  );
  copy.addEventListener("toggle", () => copy.append(grid("Comparison", COLUMNS, pairs, host)), {
    once: true,
  });
  return element(
    "section",
    "jsp-compare",
    name === "" ? null : element("p", "jsp-at-title", element("strong", "", name)),
    table,
    element("p", "jsp-note", note),
    copy,
  );
}

function lineOf(pair: Pair, longest: number): HTMLElement {
  const [before, after] = [median(pair.before), median(pair.after)];
  const found = difference(pair.before, pair.after);
  const family = pair.family === "" ? "other" : pair.family;
  const share = (ns: number): number => ns / longest;
  const bars = element(
    "div",
    "jsp-plot",
    bar("jsp-before", 0, share(before), `before: ${format.duration(before)}`),
    bar(`jsp-after jsp-${family}`, 0, share(after), `after: ${format.duration(after)}`),
  );
  const mark = pair.family === "" ? null : swatch(family as Parameters<typeof swatch>[0]);
  const name = element("th", "jsp-stage", mark, pair.title);
  name.scope = "row";
  const verdict = element(
    "td",
    `jsp-verdict jsp-${found.verdict.replace(" ", "-")}`,
    found.verdict,
  );
  const node = element(
    "tr",
    pair.isTotal ? "jsp-total" : "",
    name,
    element("td", "jsp-plot-cell", bars),
    element("td", "jsp-number", format.duration(before)),
    element("td", "jsp-number", format.duration(after)),
    element("td", "jsp-number", changeText(before, after)),
    element("td", "jsp-number", intervalText(found.interval_ns)),
    verdict,
  );
  return titled(node, `${pair.before.length} runs before, ${pair.after.length} after`);
}

function changeText(before: number, after: number): string {
  const change = after - before;
  const sign = change > 0 ? "+" : change < 0 ? "\u2212" : "";
  const ratio = before > 0 && after > 0 ? ` (${format.ratio(after / before)})` : "";
  return `${sign}${format.duration(Math.abs(change))}${ratio}`;
}

function intervalText(interval: readonly [number, number] | null): string {
  const signed = (ns: number): string =>
    `${ns < 0 ? "\u2212" : "+"}${format.duration(Math.abs(Math.round(ns)))}`;
  return interval === null
    ? format.NOT_APPLICABLE
    : `${signed(interval[0])} … ${signed(interval[1])}`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[middleAt(sorted)] ?? 0;
}

const COLUMNS: readonly GridColumn<Pair>[] = [
  { title: "Stage", key: "stage", value: (pair) => pair.title, text: (pair) => pair.title },
  timeColumn("before", (pair) => median(pair.before)),
  timeColumn("after", (pair) => median(pair.after)),
  {
    title: "verdict",
    key: "verdict",
    value: (pair) => difference(pair.before, pair.after).verdict,
    text: (pair) => difference(pair.before, pair.after).verdict,
  },
];

function timeColumn(title: string, value: (pair: Pair) => number): GridColumn<Pair> {
  return {
    title,
    key: `${title}_ns`,
    value,
    text: (pair) => format.duration(value(pair)),
    isNumber: true,
  };
}
