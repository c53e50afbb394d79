/** Two documents side by side, stage by stage; whether one is faster only Python tells. */

import {
  type DrawnTrace,
  hasWaterfall,
  type ReadDocument,
  readDocument,
  type SerprofDocument,
  type SweepDocument,
} from "../document/document";
import * as format from "../document/format";
import type { CompareView, Host } from "../document/host";
import { remedy } from "../frame/findings";
import { headlineOf } from "../frame/head";
import { placed } from "../frame/place";
import type { Shell } from "../frame/shell";
import { element, folded, heading } from "../kit/dom";
import { grid, numberColumn, wordColumn } from "../kit/grid";
import { bar, swatch } from "../kit/marks";
import { familyOf } from "../kit/theme";
import { type Run, runsOf } from "../sweep/series";
import { COPY, ratioText, sidesOf } from "./view";

/** One line: the time of a stage in the run that each document shows, ns. */
export interface Pair {
  readonly title: string;
  readonly family: string;
  readonly before: number;
  readonly after: number;
  /** Of the wall times: the quartiles of all runs, before and after. */
  readonly quartiles?: readonly Run["quartiles_ns"][];
  readonly isTotal: boolean;
}

/** Draw two documents side by side, stage by stage: what changed from the first to the second. */
export function mountCompare(
  container: HTMLElement,
  before: unknown,
  after: unknown,
  host: Host = {},
  files: readonly string[] = [],
): CompareView {
  return placed<[unknown, unknown]>(container, [before, after], (root, one, other) =>
    compareShell(root, readDocument(one), readDocument(other), host, files),
  );
}

function compareShell(
  root: HTMLElement,
  before: ReadDocument,
  after: ReadDocument,
  host: Host,
  files: readonly string[],
): Shell {
  const [one, other] = [before.document, after.document];
  const aboutOf = ({ name, started }: SerprofDocument): string =>
    `${name || "unnamed"}, ${format.moment(started)}`;
  const facts = sidesOf(aboutOf(one), aboutOf(other));
  const groups = groupsOf(one, other);
  const title = headlineOf(changeOf(one, other, groups));
  const isSame = one.name === other.name;
  const ask = groups.length === 0 ? [] : askPython(files, isSame, host);
  const warnings = [before.warning, after.warning]
    .filter((warning) => warning !== null)
    .map((warning) => element("p", "jsp-outcome", warning));
  const bodies = groups.map(({ name, pairs }) => groupOf(name, pairs, host, isSame));
  root.replaceChildren(element("div", "jsp-head", title, facts, ...warnings, ...ask), ...bodies);
  return { destroy: () => root.replaceChildren() };
}

/** Of runs that lie apart, which side they are on: a verdict would need the machine, too. */
function changeOf(one: SerprofDocument, other: SerprofDocument, groups: readonly Group[]): string {
  if (one.format === "serprof.trace" && other.format === "serprof.trace") {
    const change = other.wall_ns - one.wall_ns;
    const direction = change < 0 ? "less" : "more";
    return change === 0
      ? `${format.duration(one.wall_ns)} before and after`
      : `${format.duration(one.wall_ns)} before, ${format.duration(other.wall_ns)} after: ${format.duration(Math.abs(change))} ${direction}`;
  }
  if (groups.length === 0) {
    const isMixed = one.format !== other.format;
    const why = isMixed
      ? "one has many runs, the other is one run"
      : "no variant and size is in both";
    return `Nothing to compare: ${why}`;
  }
  const { name, pairs, walls } = groups[0] ?? {};
  const wall = pairs?.find((pair) => pair.isTotal);
  if (walls === undefined || wall === undefined || one.name !== other.name) {
    return `${one.name || "before"} and ${other.name || "after"}, variant by variant`;
  }
  const [before = [], after = []] = walls;
  const isFaster = Math.max(...after) < Math.min(...before);
  const isSlower = Math.min(...after) > Math.max(...before);
  const every = isFaster ? "every run was faster" : isSlower ? "every run was slower" : "";
  const times = `${format.duration(wall.before)} before, ${format.duration(wall.after)} after`;
  return `${groups.length > 1 ? `${name}: ` : ""}${times}: ${every || "their runs overlap"}`;
}

interface Group {
  readonly name: string;
  readonly pairs: readonly Pair[];
  /** All runs, before and after. */
  readonly walls?: readonly (readonly number[])[];
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
  const wall = wallPair(one.wall_ns, other.wall_ns);
  if (!hasWaterfall(one) || !hasWaterfall(other)) {
    return [wall];
  }
  const [before, after] = [ownTimes(one), ownTimes(other)];
  const unaccounted: Pair = {
    title: "Your own code, or not seen",
    family: "unaccounted",
    before: one.waterfall.unaccounted_ns,
    after: other.waterfall.unaccounted_ns,
    isTotal: false,
  };
  return [...stagePairs(stagesByKey([one, other]), before, after), unaccounted, wall];
}

/** Stages that took time before or after. */
function stagePairs(stages: Stages, before: Times, after: Times): Pair[] {
  return [...stages]
    .map(([key, { title, family }]) => ({
      title,
      family,
      before: before.get(key) ?? 0,
      after: after.get(key) ?? 0,
      isTotal: false,
    }))
    .filter((pair) => pair.before + pair.after > 0);
}

type Stages = ReturnType<typeof stagesByKey>;
type Times = ReadonlyMap<string, number>;

function wallPair(before: number, after: number): Pair {
  return { title: "Wall time", family: "", before, after, isTotal: true };
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

/** The middle warm run of the same variant and size; cold runs are one each. */
export function sweepGroups(one: SweepDocument, other: SweepDocument): Group[] {
  const traces = [...one.traces, ...other.traces].map((entry) => entry.trace as DrawnTrace);
  const stages = stagesByKey(traces);
  return one.variants.flatMap((variant) => {
    const [ones, others] = [one, other].map((doc) =>
      runsOf(doc, variant.key).filter((run) => !run.cold),
    ) as [Run[], Run[]];
    return ones.flatMap((before) => {
      const size = before.point.size_bytes;
      const after = others.find((run) => run.point.size_bytes === size);
      const sized = size == null ? "" : `, ${format.bytes(size)}`;
      const name = `${variant.title ?? variant.key}${sized}, warm`;
      const walls = [before, after].map((run) => run?.walls_ns ?? []);
      return after === undefined ? [] : [{ name, pairs: runPairs(before, after, stages), walls }];
    });
  });
}

function runPairs(before: Run, after: Run, stages: Stages): Pair[] {
  const [one, other] = [before, after].map(({ point }) => new Map(Object.entries(point.stages)));
  const wall = wallPair(before.point.wall_ns, after.point.wall_ns);
  const spread = { quartiles: [before.quartiles_ns, after.quartiles_ns] };
  return [...stagePairs(stages, one as Times, other as Times), { ...wall, ...spread }];
}

const HEADS = ["Stage", "before and after", "before", "after", "after / before"];
/** Whether one is faster needs statistics, which no browser has: of files with a line to paste. */
function askPython(files: readonly string[], isSame: boolean, host: Host): HTMLElement[] {
  const other = isSame ? "" : "The two have different names, so there is no ratio here. ";
  const name = isSame ? "" : ', name="both answer the same question"';
  const call = `sp.compare(${files.map((file) => JSON.stringify(file)).join(", ")}${name})`;
  const code = files.length > 0 ? [remedy(`import jupyter_serprof as sp; ${call}`, host)] : [];
  const how = code.length > 0 ? "this line tells in a notebook:" : WITHOUT_FILES;
  const said = `${other}Whether one is faster, beyond chance and the machine, ${how}`;
  return [element("p", "jsp-note", said), ...code];
}

const WITHOUT_FILES = "sp.compare tells, of both saved as files or of two functions.";

function groupOf(name: string, pairs: readonly Pair[], host: Host, isSame: boolean): HTMLElement {
  const longest = Math.max(1, ...pairs.map((pair) => Math.max(pair.before, pair.after)));
  const lines = pairs.map((pair) => lineOf(pair, longest, isSame));
  const heads = HEADS.map((title, at) => element("th", at < 2 ? "jsp-stage" : "jsp-number", title));
  const table = element(
    "table",
    "jsp-table jsp-compare-table",
    element("caption", "jsp-hidden", name || "Stages before and after"),
    element("thead", "", element("tr", "", ...heads)),
    element("tbody", "", ...lines),
  );
  const copy = folded(COPY, (node) => node.append(grid("Comparison", COLUMNS, pairs, host)));
  return element(
    "section",
    "jsp-compare",
    name === "" ? null : element("p", "jsp-at-title", element("strong", "", name)),
    table,
    copy,
  );
}

function lineOf(pair: Pair, longest: number, isSame: boolean): HTMLElement {
  const { before, after } = pair;
  const family = pair.family === "" ? "other" : pair.family;
  const bars = element(
    "div",
    "jsp-plot",
    bar("jsp-before", 0, before / longest, `before: ${format.duration(before)}`),
    bar(`jsp-after jsp-${family}`, 0, after / longest, `after: ${format.duration(after)}`),
  );
  const mark = pair.family === "" ? null : swatch(family as Parameters<typeof swatch>[0]);
  const name = heading("row", "jsp-stage", mark, pair.title);
  const ratio =
    isSame && before > 0 && after > 0 ? ratioText(after / before) : format.NOT_APPLICABLE;
  return element(
    "tr",
    pair.isTotal ? "jsp-total" : "",
    name,
    element("td", "jsp-plot-cell", bars),
    element("td", "jsp-number", timeText(before, pair.quartiles?.[0])),
    element("td", "jsp-number", timeText(after, pair.quartiles?.[1])),
    element("td", "jsp-number", ratio),
  );
}

function timeText(ns: number, quarter: Run["quartiles_ns"]): string {
  const ends = quarter?.map((end) => format.duration(end)).join("–");
  return ends === undefined ? format.duration(ns) : `${format.duration(ns)} [${ends}]`;
}

const COLUMNS = [
  wordColumn("Stage", "stage", ({ title }: Pair) => title),
  numberColumn("before", "before_ns", ({ before }: Pair) => before),
  numberColumn("after", "after_ns", ({ after }: Pair) => after),
];
