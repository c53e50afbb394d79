/** The size sweep: time over size, and a slider that replays what was stored at each size. */

import type { SweepDocument, Variant } from "../document/document";
import * as format from "../document/format";
import { legendEntry } from "../frame/legend";
import type { Part, Stage as Shared } from "../frame/part";
import { chooser, radio, slider } from "../kit/controls";
import { element, folded, having, path, shape } from "../kit/dom";
import { segment } from "../kit/marks";
import { familyOf } from "../kit/theme";
import { waterfall } from "../waterfall/waterfall";
import { chartOf, inkOf, markPath, sizeExtent } from "./chart";
import { linkSlider, linkTexts, wireNs } from "./link";
import { stageSums } from "./roundtrip";
import { chartScene, ridesOf, runAt, type SizeScene, sizeName, smallStages } from "./scene";
import {
  breaksOf,
  type Fit,
  inOrder,
  movedAt,
  outsideOf,
  type Run,
  sizesOf,
  stagesOf,
} from "./series";

const CHART_MOST = 700;
const SIDE_PX = 330;
/** From here on the sums stand beside the chart, px. */
const WIDE_PX = 860;

/** The middle of the thumb stands this far inside the slider at its ends, twice, px. */
const THUMB_PX = 16;

export function sizeSweep(doc: SweepDocument, shared: Shared): Part {
  const sizes = sizesOf(doc);
  const variants = doc.variants.filter((variant) =>
    doc.points.some((point) => point.variant === variant.key),
  );
  const hasWarm = doc.points.some((point) => !point.cold);
  const best = sizes.find((each) => each === doc.best?.size_bytes);
  const drawn = doc.points.flatMap((p) => (p.cold !== hasWarm ? (p.size_bytes ?? []) : []));
  const size = best ?? drawn.toSorted((a, b) => a - b)[Math.floor((drawn.length - 1) * 0.75)] ?? 0;
  const scene: SizeScene = {
    doc,
    stages: stagesOf(doc),
    sizes,
    variants,
    size,
    isCold: !hasWarm,
    // One variant over chunk sizes: its stages are the question.
    variant: doc.kind === "chunks" && variants.length === 1 ? (variants[0]?.key ?? "") : "",
    link: null,
  };
  const picture = element("div", "jsp-chart-frame");
  const side = element("div", "jsp-at-size");
  const replay = element("div", "jsp-replay");
  let width = 0;

  /** The waterfalls that were opened below. */
  const opened: Part[] = [];
  const paint = (): void => {
    const whole = node.clientWidth || 720;
    width = Math.max(280, Math.min(CHART_MOST, whole >= WIDE_PX ? whole - SIDE_PX : whole));
    node.classList.toggle("jsp-wide", whole >= WIDE_PX);
    picture.replaceChildren(chartOf(chartScene(scene), width));
    const [from, to] = sizeExtent(chartScene(scene), width, scene.sizes);
    input.style.marginLeft = `${from - THUMB_PX / 2}px`;
    input.style.width = `${to - from + THUMB_PX}px`;
    for (const part of opened) {
      part.paint?.();
    }
  };
  const change = (): void => {
    opened.length = 0;
    paint();
    side.replaceChildren(...atSize(scene));
    words.replaceChildren(...linkNotes(scene));
    legend.replaceChildren(...legendOf(scene).filter((node) => node !== null));
    laws.replaceChildren(...fitTexts(scene));
    replay.replaceChildren(replayOf(scene, shared, opened));
  };
  const nameOf = (at: number): string => sizeName(doc, sizes[at] ?? scene.size);
  const input = slider(Math.max(0, sizes.length - 1), sizes.indexOf(size), nameOf, (at) => {
    scene.size = sizes[at] ?? scene.size;
    change();
  });
  input.setAttribute("aria-label", "Size whose stored runs are shown");
  const how = element("p", "jsp-note jsp-slider-note", "drag, or ← →: stored sizes only");
  const legend = element("p", "jsp-legend");
  const laws = element("p", "jsp-legend");
  const folds = folded("How each line grows with size", (fold) => fold.append(laws));
  const choices = [
    { key: "", title: doc.kind === "chunks" ? "Wall time" : "Transports" },
    ...variants.map(({ key, title }) => ({ key, title: `Stages of ${title}` })),
  ];
  const what = chooser("Lines", choices, scene.variant, (key) => {
    scene.variant = key;
    change();
  });
  const warmth = ["Cold", "Warm"].map((title) => ({ key: title, title }));
  const runs = radio("Runs", "jsp-segmented", warmth, scene.isCold ? "Cold" : "Warm", (key) => {
    scene.isCold = key === "Cold";
    change();
  });
  const words = having(element("div", "jsp-link-words"), { "aria-live": "polite" });
  // Of a Dask computation only the bytes of its graph are counted, and those were sent already.
  const hasBytes =
    doc.kind !== "chunks" && doc.points.some((point) => (point.moved_bytes ?? 0) > 0);
  const network = hasBytes
    ? linkSlider((link) => {
        scene.link = link;
        change();
      })
    : null;
  const left = element("div", "", picture, element("div", "jsp-slider-row", input, how), legend);
  const node = element(
    "section",
    "jsp-sizes",
    element("div", "jsp-controls", what, runs.node, network),
    element("div", "jsp-sizes-row", left, side),
    words,
    doc.kind === "chunks" ? null : folds,
    replay,
  );
  change();
  return { node, paint };
}

/** What a link would change, in words; nothing while it is off. */
function linkNotes(scene: SizeScene): HTMLElement[] {
  return scene.link === null
    ? []
    : linkTexts(ridesOf(scene), scene.link, sizeName(scene.doc, scene.size)).map((text, at) =>
        element("p", at === 0 ? "" : "jsp-note", text),
      );
}

function legendOf(scene: SizeScene): (HTMLElement | null)[] {
  const { lines: drawn } = chartScene(scene);
  const lines = drawn.map((line) => {
    const mark = path("jsp-mark", markPath(line.marker, 7, 7));
    const sample = shape("svg", { width: 14, height: 14, "aria-hidden": "true" }, mark);
    sample.style.color = inkOf(line.family);
    const said = [line.title, line.outside].filter(Boolean).join(", ");
    const entry = element("span", "jsp-line-name", said);
    entry.prepend(sample);
    return entry;
  });
  // Their lines may lie below those that the headline names.
  const outside = scene.doc.summary?.details?.filter((text) => text.endsWith("not compared"));
  const gap = "gap in a line: from there on time grows faster or slower";
  const most = Math.max(0, ...drawn.flatMap(({ points }) => points.map(({ count }) => count)));
  const which = ["", "single runs", "faster run of 2"][most] ?? `middle run of ${most}`;
  const small = smallStages(scene);
  const stages = `${small} stage${small === 1 ? "" : "s"}`;
  return [
    ...lines,
    drawn.some((line) => breaksOf(line.fits).length > 0) ? element("span", "", gap) : null,
    scene.link === null ? null : legendEntry("jsp-wire", "network, predicted: dashed and hollow"),
    small > 0 ? element("span", "", `${stages} below 5\u00a0% at every size: see Table`) : null,
    ...(outside ?? []).map((text) => element("span", "", text)),
    legendEntry("jsp-band-sample", most < 4 ? "all runs" : "middle half of the runs"),
    element("span", "jsp-legend-end", `${which}; lines end at measured sizes`),
  ];
}

/** The growth in words, piece by piece. */
function fitTexts(scene: SizeScene): HTMLElement[] {
  return chartScene(scene).lines.flatMap((line) =>
    line.fits.map((fit) => {
      const ends = [...new Set([fit.from_bytes, fit.to_bytes])];
      const sizes = ends.map(format.bytes).join(" to ");
      const cause = fit.cause === "" ? "" : ` (${fit.cause})`;
      return element("span", "jsp-fit-text", `${line.title}, ${sizes}${cause}: ${lawText(fit)}`);
    }),
  );
}

/** What a run costs whatever its size, and how fast its bytes go. */
function lawText({ fixed_ns, growth, high, low, ns_per_byte }: Fit): string {
  const rate = (slope: number): string => format.bytesPerSecond(1e9 / slope);
  if (fixed_ns === null || ns_per_byte === null) {
    return growth;
  }
  if (growth === "constant" || ns_per_byte <= 0) {
    return `${format.duration(fixed_ns)} at every size`;
  }
  const spread = low && high ? ` [${rate(high)}, ${rate(low)}]` : "";
  const fixed = fixed_ns > 0 ? `${format.duration(fixed_ns)} + ` : "";
  return `${fixed}${rate(ns_per_byte)}${spread}`;
}

/** Every transport at the chosen size: one bar each on one scale, and its stages as a sum. */
export function atSize(scene: SizeScene): HTMLElement[] {
  const runs = scene.variants.map((variant) => {
    const run = runAt(scene, variant.key);
    return { variant, run, wire: run === undefined ? null : wireOf(scene, variant) };
  });
  const times = runs.map(({ run, wire }) => (run?.point.wall_ns ?? 0) + (wire ?? 0));
  const longest = Math.max(1, ...times);
  const title = element(
    "p",
    "jsp-at-title",
    element("strong", "", `at ${sizeName(scene.doc, scene.size)}`),
    element("span", "jsp-muted", `scale 0 – ${format.duration(longest)}`),
  );
  const blocks = runs.map(({ variant, run, wire }) => {
    const amount =
      run === undefined ? "not measured" : format.duration(run.point.wall_ns + (wire ?? 0));
    const outside = element("span", "jsp-muted", ` ${outsideOf(variant)}`);
    const head = element(
      "p",
      "jsp-at-title",
      element("span", "", element("strong", "", variant.title ?? variant.key), outside),
      element("strong", "", wire === null ? amount : `${amount}, predicted`),
    );
    if (run === undefined) {
      return element("div", "jsp-at-block", head);
    }
    const isUnknown = scene.link !== null && wire === null;
    const why = "network n/a: its bytes were not counted";
    const note = isUnknown ? element("p", "jsp-note", why) : null;
    const stack = stackOf(scene, run, longest, wire);
    // A remedy that was tried is drawn as an outline beside what it would replace.
    const ghost = variant.facts?.tried === true ? " jsp-ghost" : "";
    return element("div", `jsp-at-block${ghost}`, head, stack, note);
  });
  const chosen = scene.variants.find((variant) => variant.key === scene.variant);
  const run = chosen === undefined ? undefined : runAt(scene, chosen.key);
  const sums = chosen && run ? stageSums(chosen, [run], scene.stages) : [];
  return [title, ...blocks, ...sums];
}

function wireOf({ doc, isCold, link, size }: SizeScene, { key }: Variant): number | null {
  const moved = movedAt(doc, key, isCold, size);
  return link === null || moved === null ? null : wireNs(moved, link);
}

function stackOf(scene: SizeScene, run: Run, longest: number, wire: number | null): HTMLElement {
  let rest = run.point.wall_ns;
  const parts = inOrder(run, scene.stages).map(([key, ns]) => {
    rest -= ns;
    const stage = scene.stages.get(key);
    const family = familyOf(stage?.family);
    return segment(`jsp-${family}`, ns, stage?.title ?? key, format.duration(ns));
  });
  if (rest > 0) {
    const amount = format.duration(rest);
    parts.push(segment("jsp-unaccounted", rest, "Unaccounted", amount, false));
  }
  if (wire !== null) {
    parts.push(segment("jsp-wire", wire, "network", `${format.duration(wire)}, predicted`));
  }
  const node = element("div", "jsp-summary jsp-at-bar", ...parts);
  const share = (run.point.wall_ns + (wire ?? 0)) / longest;
  node.style.width = `${Math.max(0.5, share * 100)}%`;
  return having(node, { "aria-hidden": "true" });
}

/** The stored waterfalls of the chosen size, each one click away. */
export function replayOf(scene: SizeScene, shared: Shared, opened: Part[]): HTMLElement {
  const stored = scene.variants.flatMap((variant) => {
    const run = runAt(scene, variant.key);
    return run?.trace ? [{ variant, trace: run.trace }] : [];
  });
  const nodes = stored.map(({ variant, trace }) => {
    const title = `Waterfall of ${variant.title ?? variant.key} at ${sizeName(scene.doc, scene.size)}`;
    const node = folded(title, () => {
      const part = waterfall(trace, shared);
      node.append(part.node);
      part.paint?.();
      opened.push(part);
    });
    node.open = variant.key === scene.variant;
    return node;
  });
  return element("div", "", ...nodes);
}
