/** Compare: what a document says about before and after, stage by stage, with its doubts. */

import {
  type Change,
  type Comparison,
  type Stage as DocumentStage,
  known,
  type SerprofDocument,
  textOf,
} from "../document/document";
import * as format from "../document/format";
import { legendEntry } from "../frame/legend";
import { entry, type Part, type Provider, type Stage } from "../frame/part";
import { coded, element, folded, having, heading, place, titled } from "../kit/dom";
import { grid, numberColumn, wordColumn } from "../kit/grid";
import { swatch } from "../kit/marks";
import { familyOf } from "../kit/theme";
import { stagesOf } from "../sweep/series";
import { type Axis, axisOf, gathered, groupsOf, placeOf, ratioOf, VERDICT_SIGNS } from "./changes";

/** What both ways to compare call their copy. */
export const COPY = "As a table to sort and copy";
const SIDE = "jsp-number jsp-side";
const HEADS = ["Stage", "before", "after", "", "faster ◂ 1 ▸ slower", "verdict"];

interface Scene {
  readonly comparison: Comparison;
  readonly stages: ReadonlyMap<string, DocumentStage>;
  readonly axis: Axis;
  /** Reasons that a row told. */
  readonly said: Set<unknown>;
}

export const comparisonOf: Provider = (doc) => {
  const { comparison: of } = doc;
  return of ? entry("compare", "Compare", (stage) => comparisonView(doc, of, stage)) : [];
};

function comparisonView(doc: SerprofDocument, comparison: Comparison, shared: Stage): Part {
  const stages =
    doc.format === "serprof.sweep"
      ? stagesOf(doc)
      : new Map(doc.stages.map((stage) => [stage.key, stage]));
  const scene: Scene = { comparison, stages, axis: axisOf(comparison), said: new Set() };
  const groups = groupsOf(comparison);
  const isCold = ([first]: readonly Change[]): boolean => first?.cold === true;
  const [warm, cold] = [groups.filter((each) => !isCold(each)), groups.filter(isCold)];
  const caption = `Stages of ${comparison.before} and ${comparison.after}`;
  const note = (text: string): HTMLElement => element("p", "jsp-note", text);
  const method = textOf(comparison.method) || null;
  const none = note("Nothing in these documents can be compared.");
  const first = warm.length > 0 ? warm : cold;
  const isNamed = doc.summary?.facts?.[0]?.includes("compared with");
  const node = element(
    "section",
    "jsp-compared",
    isNamed ? null : sidesOf(comparison.before || "unnamed", comparison.after || "unnamed"),
    groups.length === 0 ? none : tableOf(scene, caption, first),
    legend(scene),
    first === cold || cold.length === 0
      ? null
      : folded("Cold runs", (fold) => fold.append(tableOf(scene, `${caption}, cold`, cold))),
    ...(comparison.notes ?? []).map((text) => note(String(text))),
    method && folded("How they were compared", (fold) => fold.append(note(method))),
    copies(caption, comparison.changes ?? [], shared),
  );
  return { node };
}

function tableOf(
  scene: Scene,
  caption: string,
  groups: readonly (readonly Change[])[],
): HTMLElement {
  const runs = scene.comparison.is_paired ? "the pairs" : "all runs";
  const interval = element("span", "jsp-interval-head", ` [95 % interval of ${runs}]`);
  const heads = HEADS.map((title, at) => {
    const className =
      at === 4 ? "jsp-plot-head" : at % 5 === 0 ? "jsp-stage" : at < 3 ? SIDE : "jsp-number";
    const rest = at === 4 ? axisNode(scene) : title === "" ? interval : null;
    return heading("col", className, title || "after / before", rest);
  });
  return element(
    "table",
    "jsp-table jsp-changes",
    element("caption", "jsp-hidden", caption),
    element("thead", "", element("tr", "", ...heads)),
    ...groups.map((changes) => bodyOf(scene, gathered(changes))),
  );
}

/** Which two are compared. */
export function sidesOf(before: string, after: string): HTMLElement {
  const said = [`before: ${before}`, `after: ${after}`];
  return element("p", "jsp-facts", ...said.map((side) => element("span", "", ...coded(side))));
}

/** Before each group of a sweep, which runs these are. */
function bodyOf(scene: Scene, changes: readonly Change[]): HTMLElement {
  const name = changes[0] === undefined ? "" : runOf(changes[0]);
  const [before, after] = (["before_ns", "after_ns"] as const).map((side) => times(changes, side));
  const rows = changes.map((change, at) =>
    rowOf(scene, change, [before?.[at] ?? "", after?.[at] ?? ""]),
  );
  if (name === "") {
    return element("tbody", "", ...rows);
  }
  const head = having(heading("rowgroup", "jsp-stage", name), { colspan: HEADS.length });
  return element("tbody", "", element("tr", "jsp-block-group", head), ...rows);
}

function runOf({ cold, size_bytes, variant }: Change): string {
  const texts = [
    variant === "code" ? "" : (variant ?? ""),
    size_bytes == null ? "" : format.bytes(size_bytes),
    cold == null ? "" : cold ? "cold" : "warm",
  ];
  return texts.filter((text) => text !== "").join(", ");
}

function rowOf(scene: Scene, change: Change, [before, after]: readonly string[]): HTMLElement {
  const stage = scene.stages.get(change.stage);
  const { stage: key } = change;
  const family = key === "unaccounted" ? key : familyOf(stage?.family);
  const mark = key === "" ? null : swatch(family);
  // Where it is narrow, the verdict stands under its number, and both times under the name.
  const sides = element("span", "jsp-sides-below", `${before} → ${after}`);
  const head = heading("row", "jsp-stage", mark, String(change.title ?? key), sides);
  const below = element("span", "jsp-below", verdictText(change));
  const row = element(
    "tr",
    key === "" ? "jsp-total" : family === key ? "jsp-own-code" : "",
    head,
    element("td", SIDE, before ?? ""),
    element("td", SIDE, after ?? ""),
    element("td", "jsp-number", ...wholes(intervalText(change)), below),
    element("td", "jsp-plot-cell", whisker(scene, change)),
    verdictCell(change, scene.said),
  );
  const [before_runs, after_runs] = [change.before_runs, change.after_runs].map(format.count);
  return titled(row, `runs: ${before_runs} before, ${after_runs} after`);
}

/** The wall time as in the headline; stages in its unit, as those below a row are written. */
function times(changes: readonly Change[], side: "before_ns" | "after_ns"): string[] {
  const all = changes.map((change) => known(change[side]) ?? 0);
  const walls = all.filter((_, at) => changes[at]?.stage === "");
  const parts = all.map((ns, at) => (changes[at]?.stage === "" ? 0 : ns));
  const scale = format.columnScale(Math.max(...(walls.length ? walls : all)));
  const total = parts.reduce((sum, ns) => sum + ns, 0);
  const owned = format.column(parts, total, scale);
  return changes.map((change, at) => {
    if (known(change[side]) === null) {
      return format.NOT_APPLICABLE;
    }
    return change.stage === "" ? format.duration(all[at] ?? 0) : `${owned[at]}\u00a0${scale.unit}`;
  });
}

/** Two decimals: 0.98 and 1.02 must not both be 1.0. */
export function ratioText(ratio: number): string {
  // Of a ratio below a tenth two digits are told as well: 0.0041 is not nothing.
  const small = Math.min(6, 1 - Math.floor(Math.log10(ratio)));
  return format.fixed(ratio, ratio < 0.0995 ? small : ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0);
}

export function intervalText({ high, low, ratio }: Change): string {
  const [middle, from, to] = [ratio, low, high].map(ratioOf);
  if (middle == null) {
    return format.NOT_APPLICABLE;
  }
  const interval = from == null || to == null ? "" : ` [${ratioText(from)}–${ratioText(to)}]`;
  return `${ratioText(middle)}×${interval}`;
}

/** A line may end before the interval, not in it. */
function wholes(text: string): (HTMLElement | string)[] {
  const [ratio = "", ...rest] = text.split(" ");
  return [ratio, ...rest.flatMap((part) => [" ", element("span", "jsp-whole", part)])];
}

/** In words and with a sign; the colour only repeats it. */
export function verdictText({ ratio, verdict }: Change): string {
  const sign = VERDICT_SIGNS[verdict] ?? "";
  const middle = ratioOf(ratio);
  const times = middle === null ? 1 : Math.max(middle, 1 / middle);
  const isTold = (verdict === "faster" || verdict === "slower") && times >= 1.05;
  return `${sign} ${isTold ? `${ratioText(times)}× ` : ""}${verdict}`;
}

function verdictCell(change: Change, said: Set<unknown>): HTMLElement {
  const isNew = change.reason && said.size !== said.add(change.reason).size;
  const kind = String(change.verdict).replaceAll(" ", "-");
  const isKnown = Object.hasOwn(VERDICT_SIGNS, change.verdict);
  return element(
    "td",
    `jsp-stage jsp-verdict${isKnown ? ` jsp-${kind}` : ""}`,
    element("span", "jsp-verdict-text", verdictText(change)),
    isNew ? element("span", "jsp-note jsp-reason", String(change.reason)) : null,
  );
}

/** The interval as a whisker with a mark at the ratio, on an axis where twice and half are as far. */
function whisker({ axis }: Scene, { high, low, ratio, verdict }: Change): HTMLElement {
  const [middle, from, to] = [ratio, low, high].map(ratioOf);
  const marks: HTMLElement[] = [];
  const at = (value: number): number => placeOf(value, axis);
  if (axis.noise > 1) {
    const [left, right] = [at(1 / axis.noise), at(axis.noise)];
    marks.push(place(element("div", "jsp-noise"), left, right - left));
  }
  marks.push(place(element("div", "jsp-one"), at(1), 0));
  const isKnown = Object.hasOwn(VERDICT_SIGNS, verdict);
  const colour = isKnown ? `jsp-${verdict.replaceAll(" ", "-")}` : "";
  if (from != null && to != null) {
    marks.push(place(element("div", `jsp-interval ${colour}`), at(from), at(to) - at(from)));
  }
  if (middle != null) {
    marks.push(place(element("div", `jsp-ratio ${colour}`), at(middle), 0));
  }
  return having(element("div", "jsp-plot", ...marks), { "aria-hidden": "true" });
}

function axisNode({ axis }: Scene): HTMLElement {
  const labels = axis.ticks.map((tick, at) => {
    const text = tick < 1 ? `1/${format.count(Math.round(1 / tick))}` : `${format.count(tick)}×`;
    // Where it is narrow, the ends and the middle are all that there is room for.
    const isInner = tick !== 1 && at % (axis.ticks.length - 1) !== 0;
    const where = placeOf(tick, axis);
    const name = `jsp-tick jsp-tick-at-${Math.round(where * 2)}${isInner ? " jsp-tick-inner" : ""}`;
    return place(element("span", name, text), where, 0);
  });
  return having(element("div", "jsp-axis", ...labels), { "aria-hidden": "true" });
}

function legend({ axis: { noise } }: Scene): HTMLElement {
  return element(
    "p",
    "jsp-legend",
    legendEntry("jsp-interval-sample", "95 % interval of the ratio"),
    noise > 1
      ? legendEntry("jsp-noise", `noise: runs of one side lie apart by up to ${ratioText(noise)}×`)
      : null,
    element("span", "", "▼ faster, ▲ slower, ≈ cannot tell"),
  );
}

function copies(caption: string, changes: readonly Change[], shared: Stage): HTMLElement | null {
  if (changes.length === 0) {
    return null;
  }
  const number = (title: string, key: keyof Change, print: (value: number) => string) =>
    numberColumn<Change>(title, key, (change) => known(change[key]), print);
  const words = (title: string, text: (change: Change) => string) => wordColumn(title, title, text);
  const columns = [
    words("stage", (change) => String(change.title ?? change.stage)),
    words("runs", runOf),
    number("before", "before_ns", format.duration),
    number("after", "after_ns", format.duration),
    number("after / before", "ratio", ratioText),
    number("low", "low", ratioText),
    number("high", "high", ratioText),
    number("runs before", "before_runs", format.count),
    number("runs after", "after_runs", format.count),
    words("verdict", (change) => String(change.verdict)),
    words("reason", (change) => String(change.reason ?? "")),
  ];
  return folded(COPY, (node) => node.append(grid(caption, columns, changes, shared.host)));
}
