/** The round trip: every variant cold and warm on one time axis, and what each moved. */

import type { Scalar, Stage, SweepDocument, Variant } from "../document/document";
import * as format from "../document/format";
import { spanDetails } from "../frame/facts";
import { legendEntry } from "../frame/legend";
import type { Part, Stage as Shared } from "../frame/part";
import { element, folded, having, heading, place, titled } from "../kit/dom";
import { fitColumns, isEmpty } from "../kit/fit";
import { bar, chip, labelParts, swatch } from "../kit/marks";
import { grouped } from "../kit/sort";
import { familyOf } from "../kit/theme";
import { axis } from "../waterfall/plot";
import { waterfall } from "../waterfall/waterfall";
import { inOrder, isAlias, type Run, runsOf, stagesOf } from "./series";

/** What every line of one sweep shares. */
interface Scene {
  readonly sweep: SweepDocument;
  readonly stages: ReadonlyMap<string, Stage>;
  readonly end_ns: number;
  readonly hasSizes: boolean;
  readonly columns: readonly RunColumn[];
  /** How long one memcpy takes, where that is on the axis. */
  readonly memcpy_ns: number | null;
}

export function roundTrip(doc: SweepDocument, shared: Shared): Part {
  const groups = doc.variants.map((variant) => ({ variant, runs: runsOf(doc, variant.key) }));
  const all = groups.flatMap((group) => group.runs);
  const scene = sceneOf(doc, all);
  // What has no runs for the same reason is one row.
  const keyOf = ({ variant, runs }: Measured) => (runs.length > 0 ? variant.key : stateOf(variant));
  const table = element(
    "table",
    "jsp-table",
    element("caption", "jsp-hidden", `Runs of ${doc.name}`),
    headRow(scene),
    ...[...grouped(groups, keyOf).values()].map((alike) => variantRows(scene, alike)),
  );
  const opened: Part[] = [];
  const more = groups
    .filter(({ runs }) => runs.length > 0)
    .map(({ variant, runs }) => expandable(scene, variant, runs, shared, opened));
  const node = element("section", "jsp-sweep", table, more.length ? legend(scene) : null, ...more);
  const paint = (): void => {
    fitColumns(node);
    for (const part of opened) {
      part.paint?.();
    }
  };
  return { node, paint };
}

function sceneOf(doc: SweepDocument, runs: readonly Run[]): Scene {
  const columns = columnsFor(doc).filter(
    ({ text }) => !isEmpty(runs.map((run) => text(variantOf(doc, run), run))),
  );
  const sizes = new Set(runs.map((run) => run.point.size_bytes));
  const memcpy = doc.limits?.memcpy_bytes_per_s;
  const [size] = sizes;
  const end_ns = Math.max(1, ...runs.map((run) => run.point.wall_ns));
  const memcpy_ns = sizes.size === 1 && size && memcpy ? (size / memcpy) * 1e9 : null;
  return {
    sweep: doc,
    stages: stagesOf(doc),
    end_ns,
    hasSizes: sizes.size > 1,
    columns,
    memcpy_ns: memcpy_ns !== null && memcpy_ns <= end_ns ? memcpy_ns : null,
  };
}

interface RunColumn {
  readonly title: string;
  /** Narrow outputs drop columns by this name; those without it always stay. */
  readonly name: string;
  text(variant: Variant | undefined, run: Run): string;
}

function columnsFor({ limits }: SweepDocument): RunColumn[] {
  const memcpy = limits?.memcpy_bytes_per_s;
  const timesMemcpy = (variant: Variant | undefined, { point }: Run): string => {
    const size = point.size_bytes ?? 0;
    const ratio = (point.wall_ns / size) * ((memcpy ?? 0) / 1e9);
    const isUntold = size < format.RATE_FLOOR_BYTES || !memcpy || (variant && isAlias(variant));
    return isUntold ? format.NOT_APPLICABLE : ratio < 0.05 ? "< 0.1×" : format.ratio(ratio);
  };
  const faults = ({ point: { minor_faults } }: Run): string =>
    minor_faults == null ? format.NOT_SEEN : format.count(minor_faults);
  const bytes = (title: string, key: string): RunColumn => ({
    title,
    name: "bytes",
    text: (variant) => bytesFact(variant, key),
  });
  return [
    { title: "total", name: "", text: (_, run) => format.duration(run.point.wall_ns) },
    { title: "vs fastest", name: "busy", text: toldOf("vs_fastest") },
    bytes("in-band", "in_band_bytes"),
    bytes("out-of-band", "out_of_band_bytes"),
    { title: "page faults", name: "faults", text: (_, run) => faults(run) },
    { title: "vs memcpy", name: "memcpy", text: timesMemcpy },
    { title: "spread", name: "rate", text: (_, run) => spread(run) },
    { title: "gain", name: "", text: toldOf("gain") },
  ];
}

function classOf({ name }: RunColumn): string {
  return name === "" ? "jsp-number" : `jsp-number jsp-column-${name}`;
}

function headRow(scene: Scene): HTMLElement {
  const { end_ns, memcpy_ns } = scene;
  const guide =
    memcpy_ns === null
      ? null
      : { time_ns: memcpy_ns, title: `one memcpy ${format.duration(memcpy_ns)}` };
  // Without a run there is no column, and nothing on an axis.
  const hasRuns = scene.columns.length > 0;
  const [cell, on] = hasRuns ? (["th", axis(end_ns, guide)] as const) : (["td", null] as const);
  const plot = element(cell, "jsp-plot-head", on);
  const numbers = scene.columns.map((column) => element("th", classOf(column), column.title));
  const variant = element("th", "jsp-variant", "Variant");
  const run = element("th", "", element("span", "jsp-hidden", "Run"));
  return element("thead", "", element("tr", "", variant, run, plot, ...numbers));
}

function stateOf({ reason, state }: Variant): string {
  return reason?.includes(state) ? reason : [state, reason].filter(Boolean).join(": ");
}

type Measured = Readonly<{ variant: Variant; runs: readonly Run[] }>;

function variantRows(scene: Scene, alike: readonly Measured[]): HTMLElement {
  const [{ variant, runs }] = alike as [Measured];
  const { facts, result } = variant;
  const name = heading(
    "rowgroup",
    "jsp-variant",
    ...alike.map(({ variant: { title, key } }) => {
      const words = (title ?? key).split(/(?<=\.)/); // it breaks there, within none of them
      return element("strong", "", ...words.flatMap((word) => [word, element("wbr", "")]));
    }),
    facts?.tried === true ? chip("tried", "jsp-badge") : null,
    result ? chip(result, "jsp-badge") : null,
    facts?.equal === false ? chip("came back different", "jsp-badge jsp-bad") : null,
  );
  const rest = 2 + scene.columns.length;
  const wide = (text: string, colspan: number): HTMLElement =>
    having(element("td", "jsp-state", text), { colspan });
  const said = new Set(alike.flatMap((each) => each.variant.notes ?? []));
  const notes = [...said].map((note) => element("tr", "jsp-variant-note", wide(note, rest + 1)));
  name.rowSpan = Math.max(1, runs.length);
  if (runs.length === 0) {
    return element("tbody", "", element("tr", "", name, wide(stateOf(variant), rest)), ...notes);
  }
  const lines = runs.map((run) => runRow(scene, variant, run));
  lines[0]?.prepend(name);
  return element("tbody", "", ...lines, ...notes);
}

function runRow(scene: Scene, variant: Variant, run: Run): HTMLElement {
  const size = scene.hasSizes ? `${format.bytes(run.point.size_bytes)} ` : "";
  const repeats = run.walls_ns.length;
  const temperature = run.cold ? "cold" : repeats > 1 ? `warm ×${repeats}` : "warm";
  const all = run.walls_ns.map((wall) => format.duration(wall)).join(", ");
  return element(
    "tr",
    run.cold ? "" : "jsp-warm",
    element("td", "jsp-run", size + temperature),
    element("td", "jsp-plot-cell", runPlot(scene, run)),
    ...scene.columns.map((column) => {
      const cell = element("td", classOf(column), column.text(variant, run));
      return column.title === "total" ? titled(cell, `all runs: ${all}`) : cell;
    }),
  );
}

/** Of the warm runs: as the ranking tells it, or a trial. */
function toldOf(key: string): RunColumn["text"] {
  return (variant, { cold }) => {
    const told = (cold ? null : variant?.facts?.[key]) ?? format.NOT_APPLICABLE;
    return typeof told === "number" ? format.ratio(told) : String(told);
  };
}

function spread({ groups, quartiles_ns, walls_ns }: Run): string {
  const range = quartiles_ns ?? [walls_ns[0] as number, walls_ns.at(-1) as number];
  const text = range.map((ns) => format.duration(ns)).join(" to ");
  return groups || (walls_ns.length > 1 ? text : format.NOT_APPLICABLE);
}

function bytesFact(variant: Variant | undefined, key: string): string {
  const value: Scalar = variant?.facts?.[key] ?? null;
  return typeof value === "number" ? format.bytes(value) : format.NOT_SEEN;
}

/** The stages of one run side by side from 0; what they leave of its wall time is hatched. */
function runPlot(scene: Scene, run: Run): HTMLElement {
  let at = 0;
  const bars: HTMLElement[] = [];
  const outOfBand = outOfBandStages(scene, run);
  const add = (kind: string, title: string, ns: number, isOutOfBand = false): void => {
    if (ns > 0) {
      const amount = format.duration(ns);
      const left = at / scene.end_ns;
      const node = bar(`jsp-stacked ${kind}`, left, ns / scene.end_ns, `${title}: ${amount}`);
      node.classList.toggle("jsp-oob", isOutOfBand);
      if (kind !== "jsp-unaccounted") {
        node.classList.add("jsp-segment");
        node.append(...labelParts(title, amount));
      }
      bars.push(node);
      at += ns;
    }
  };
  for (const [key, ns] of inOrder(run, scene.stages)) {
    const stage = scene.stages.get(key);
    add(`jsp-${familyOf(stage?.family)}`, stage?.title ?? key, ns, outOfBand.has(key));
  }
  add("jsp-unaccounted", "Unaccounted", run.point.wall_ns - at);
  const { end_ns, memcpy_ns } = scene;
  const guide =
    memcpy_ns === null ? null : place(element("div", "jsp-guide"), memcpy_ns / end_ns, 0);
  const isTried = variantOf(scene.sweep, run)?.facts?.tried === true;
  return element("div", isTried ? "jsp-plot jsp-ghost" : "jsp-plot", guide, ...bars);
}

function variantOf({ variants }: SweepDocument, run: Run): Variant | undefined {
  return variants.find((each) => each.key === run.point.variant);
}

/** Stages that copied what travels as buffers beside the pickle: most of what they copied. */
function outOfBandStages(scene: Scene, run: Run): ReadonlySet<string> {
  const outside = variantOf(scene.sweep, run)?.facts?.out_of_band_bytes;
  const rows = run.trace?.waterfall.rows ?? [];
  if (typeof outside !== "number" || outside <= 0) {
    return new Set();
  }
  const carriers = rows.filter((row) => (row.copied_bytes ?? 0) >= outside / 2);
  return new Set(carriers.map((row) => run.trace?.stages[row.stage]?.key ?? ""));
}

function legend(scene: Scene): HTMLElement {
  const times = scene.sweep.points.flatMap((point) => Object.entries(point.stages));
  const seen = new Set(times.flatMap(([key, ns]) => (ns > 0 ? [key] : [])));
  const families = grouped([...seen], (key) => familyOf(scene.stages.get(key)?.family));
  const entries = [...families].map(([family, keys]) => {
    const titles = new Set(keys.map((key) => scene.stages.get(key)?.title ?? key));
    return legendEntry(`jsp-${family}`, [...titles].join(", "));
  });
  entries.push(legendEntry("jsp-unaccounted", "unaccounted"));
  if (scene.sweep.variants.some((variant) => Number(variant.facts?.out_of_band_bytes) > 0)) {
    entries.push(legendEntry("jsp-store jsp-oob", "out-of-band bytes"));
  }
  const end = "total: the cold run, or the one of the warm runs that counts";
  return element("p", "jsp-legend", ...entries, element("span", "jsp-legend-end", end));
}

/** "Ray, warm: Look at each element 0.12 + Pickle by Ray 0.16 + ... = 65.00 ms". */
export function stageSums(
  variant: Variant,
  runs: readonly Run[],
  stages: ReadonlyMap<string, Stage>,
): HTMLElement[] {
  return runs.map((run) => {
    const scale = format.columnScale(run.point.wall_ns);
    const order = inOrder(run, stages);
    const few = order.filter(([, ns]) => ns < run.point.wall_ns / 100);
    const less = few.reduce((sum, [, ns]) => sum + ns, 0);
    // What is below one percent is one term.
    const more: [string, number] = [`${few.length} more stages`, less];
    const most = order.filter((each) => !few.includes(each));
    const parts = few.length > 1 ? [...most, more] : order;
    const rest = run.point.wall_ns - parts.reduce((sum, [, ns]) => sum + ns, 0);
    const owned = [...parts.map(([, ns]) => ns), rest];
    const texts = format.column(owned, run.point.wall_ns, scale);
    const terms = parts.map(([key], index) => {
      const stage = stages.get(key);
      return term(familyOf(stage?.family), stage?.title ?? key, texts[index] as string);
    });
    terms.push(term("unaccounted", "Unaccounted", texts.at(-1) as string));
    const wall = `${format.fixed(run.point.wall_ns / scale.unitNs, scale.decimals)}\u00a0${scale.unit}`;
    const title = `${variant.title ?? variant.key}, ${run.cold ? "cold" : "warm"}`;
    const label = element("span", "jsp-sum-label", title);
    const total = element("strong", "jsp-sum-total", `= ${wall}`);
    return element("p", "jsp-sum", label, ...terms, total);
  });
}

function term(family: Parameters<typeof swatch>[0], title: string, amount: string): HTMLElement {
  return element("span", "jsp-term", swatch(family), title, " ", element("strong", "", amount));
}

/** The waterfalls are built when first opened: a long sweep holds many. */
function expandable(
  scene: Scene,
  variant: Variant,
  runs: readonly Run[],
  shared: Shared,
  opened: Part[],
): HTMLElement {
  const node = folded(`Stages of ${variant.title ?? variant.key}`, () => {
    for (const { cold, point, trace } of runs) {
      if (trace !== null) {
        const caption = `${cold ? "cold" : "median warm"} run, ${format.bytes(point.size_bytes)}`;
        const part = waterfall(trace, shared);
        node.append(element("p", "jsp-note", caption), part.node, ...spanDetails(trace));
        part.paint?.();
        opened.push(part);
      }
    }
  });
  const buffers = (variant.buffers ?? []).map(([size, place]) =>
    element("li", "", `${format.bytes(Number(size))} ${place}`),
  );
  node.append(...stageSums(variant, runs, scene.stages));
  if (buffers.length > 0) {
    node.append(element("p", "jsp-note", "Buffers"), element("ul", "jsp-buffers", ...buffers));
  }
  return node;
}
