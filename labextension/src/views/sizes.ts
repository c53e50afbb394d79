/** The size sweep: time over size, and a slider that replays what was stored at each size. */

import type { Stage, SweepDocument, Variant } from "../core/document";
import { element } from "../core/dom";
import * as format from "../core/format";
import { inOrder, type Run, runsOf, stagesOf } from "../core/runs";
import { crossoversOf, fitsOf, seriesOf, sizesOf } from "../core/series";
import { shape } from "../core/svg";
import { familyOf } from "../core/theme";
import { chartOf, inkOf, type Line, MARKERS, markPath, sizeExtent } from "./chart";
import { legendEntry } from "./legend";
import { segment } from "./marks";
import type { Part, Stage as Shared } from "./part";
import { radio } from "./radio";
import { stageSums } from "./sums";
import { waterfall } from "./waterfall";

const CHART_MOST = 700;
const SIDE_PX = 330;
/** From here on the sums stand beside the chart, px. */
const WIDE_PX = 860;

/** The middle of the thumb stands this far inside the slider at its ends, twice, px. */
const THUMB_PX = 16;

interface Scene {
  readonly doc: SweepDocument;
  readonly stages: ReadonlyMap<string, Stage>;
  readonly sizes: readonly number[];
  readonly variants: readonly Variant[];
  size: number;
  isCold: boolean;
  /** Empty: transports side by side; else the stages of this variant. */
  variant: string;
}

export function sizeSweep(doc: SweepDocument, shared: Shared): Part {
  const sizes = sizesOf(doc);
  const variants = doc.variants.filter((variant) =>
    doc.points.some((point) => point.variant === variant.key),
  );
  const hasWarm = doc.points.some((point) => !point.cold);
  const size = sizes[Math.floor((sizes.length - 1) * 0.75)] ?? 0;
  const scene: Scene = {
    doc,
    stages: stagesOf(doc),
    sizes,
    variants,
    size,
    isCold: !hasWarm,
    variant: "",
  };
  const picture = element("div", "jsp-chart-frame");
  const side = element("div", "jsp-at-size");
  const replay = element("div", "jsp-replay");
  let width = 0;

  const paint = (): void => {
    const whole = node.clientWidth || 720;
    width = Math.max(280, Math.min(CHART_MOST, whole >= WIDE_PX ? whole - SIDE_PX : whole));
    node.classList.toggle("jsp-wide", whole >= WIDE_PX);
    picture.replaceChildren(chartOf(chartScene(scene), width));
    const [from, to] = sizeExtent(chartScene(scene), width, scene.sizes);
    slider.style.marginLeft = `${from - THUMB_PX / 2}px`;
    slider.style.width = `${to - from + THUMB_PX}px`;
  };
  const change = (): void => {
    paint();
    side.replaceChildren(...atSize(scene));
    legend.replaceChildren(...legendOf(scene).filter((node) => node !== null), ...fitTexts(scene));
    replay.replaceChildren(replayOf(scene, shared));
  };
  const slider = sizeSlider(scene, () => change());
  const legend = element("p", "jsp-legend");
  const choices = [
    { key: "", title: "Transports" },
    ...variants.map(({ key, title }) => ({ key, title: `Stages of ${title}` })),
  ];
  const what = radio("Lines", "jsp-segmented", choices, "", (key) => {
    scene.variant = key;
    change();
  });
  const runs = radio(
    "Runs",
    "jsp-segmented",
    [
      { key: "cold", title: "Cold" },
      { key: "warm", title: "Warm" },
    ],
    scene.isCold ? "cold" : "warm",
    (key) => {
      scene.isCold = key === "cold";
      change();
    },
  );
  const left = element("div", "", picture, slider.parentElement ?? slider);
  const node = element(
    "section",
    "jsp-sizes",
    element("div", "jsp-controls", what.node, runs.node),
    element("div", "jsp-sizes-row", left, side),
    legend,
    replay,
  );
  change();
  return { node, paint };
}

function chartScene(scene: Scene) {
  const { doc, isCold, size } = scene;
  const lines = scene.variant === "" ? transportLines(scene) : stageLines(scene, scene.variant);
  const crossovers = crossoversOf(doc).filter(
    (each) => each.cold === isCold && scene.variant === "",
  );
  const names = lines.map((line) => line.title).join(", ");
  const label = `Time over size, both logarithmic, ${isCold ? "cold" : "warm"} runs of ${names}. The Table view has the numbers.`;
  return { lines, crossovers, selected_bytes: size, label };
}

function transportLines({ doc, stages, variants, isCold }: Scene): Line[] {
  return variants.map((variant, at) => ({
    title: String(variant.title ?? variant.key),
    family: dominantFamily(doc, stages, variant.key),
    marker: MARKERS[at % MARKERS.length] ?? "circle",
    points: seriesOf(doc, variant.key, isCold),
    fits: fitsOf(doc).filter(
      (fit) => fit.variant === variant.key && fit.stage === null && fit.cold === isCold,
    ),
  }));
}

function stageLines({ doc, stages, isCold }: Scene, variant: string): Line[] {
  const keys = [...stages.values()].toSorted((a, b) => a.order - b.order).map((stage) => stage.key);
  return keys
    .map((key, at) => ({
      title: String(stages.get(key)?.title ?? key),
      family: familyOf(stages.get(key)?.family),
      marker: MARKERS[at % MARKERS.length] ?? ("circle" as const),
      points: seriesOf(doc, variant, isCold, key),
      fits: fitsOf(doc).filter(
        (fit) => fit.variant === variant && fit.stage === key && fit.cold === isCold,
      ),
    }))
    .filter((line) => line.points.length > 0);
}

/** A line has the colour of the family that dominates its transport. */
function dominantFamily(
  doc: SweepDocument,
  stages: ReadonlyMap<string, Stage>,
  variant: string,
): string {
  const sums = new Map<string, number>();
  for (const point of doc.points.filter((each) => each.variant === variant)) {
    for (const [key, ns] of Object.entries(point.stages)) {
      const family = familyOf(stages.get(key)?.family);
      sums.set(family, (sums.get(family) ?? 0) + ns);
    }
  }
  return [...sums].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "other";
}

function sizeSlider(scene: Scene, changed: () => void): HTMLInputElement {
  const input = element("input", "jsp-slider");
  input.type = "range";
  input.min = "0";
  input.max = String(Math.max(0, scene.sizes.length - 1));
  input.step = "1";
  input.value = String(scene.sizes.indexOf(scene.size));
  input.setAttribute("aria-label", "Size whose stored runs are shown");
  const say = (): void => input.setAttribute("aria-valuetext", format.bytes(scene.size));
  say();
  input.addEventListener("keydown", (event) => event.stopPropagation());
  input.addEventListener("input", () => {
    scene.size = scene.sizes[Number(input.value)] ?? scene.size;
    say();
    changed();
  });
  element(
    "div",
    "jsp-slider-row",
    input,
    element("p", "jsp-note jsp-slider-note", "drag, or ← →: stored sizes only"),
  );
  return input;
}

function runAt({ doc, size, isCold }: Scene, variant: string): Run | undefined {
  return runsOf(doc, variant).find((run) => run.point.size_bytes === size && run.cold === isCold);
}

/** Every transport at the chosen size: one bar each on one scale, and its stages as a sum. */
function atSize(scene: Scene): HTMLElement[] {
  const runs = scene.variants.map((variant) => ({ variant, run: runAt(scene, variant.key) }));
  const longest = Math.max(1, ...runs.map(({ run }) => run?.point.wall_ns ?? 0));
  const title = element(
    "p",
    "jsp-at-title",
    element("strong", "", `at ${format.bytes(scene.size)}`),
    element("span", "jsp-muted", `scale 0 – ${format.duration(longest)}`),
  );
  const blocks = runs.map(({ variant, run }) => {
    const head = element(
      "p",
      "jsp-at-title",
      element("strong", "", variant.title ?? variant.key),
      element(
        "strong",
        "",
        run === undefined ? "not measured" : format.duration(run.point.wall_ns),
      ),
    );
    return run === undefined
      ? element("div", "jsp-at-block", head)
      : element("div", `jsp-at-block${ghostOf(variant)}`, head, stackOf(scene, run, longest));
  });
  const chosen = scene.variants.find((variant) => variant.key === scene.variant);
  const run = chosen === undefined ? undefined : runAt(scene, chosen.key);
  const sums = chosen && run ? stageSums(chosen, [run], scene.stages) : [];
  return [title, ...blocks, ...sums];
}

/** A remedy that was tried is drawn as an outline beside what it would replace. */
function ghostOf(variant: Variant): string {
  return variant.facts?.tried === true ? " jsp-ghost" : "";
}

function stackOf(scene: Scene, run: Run, longest: number): HTMLElement {
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
  const node = element("div", "jsp-summary jsp-at-bar", ...parts);
  node.style.width = `${Math.max(0.5, (run.point.wall_ns / longest) * 100)}%`;
  node.setAttribute("aria-hidden", "true");
  return node;
}

function legendOf(scene: Scene): (HTMLElement | null)[] {
  const lines = chartScene(scene).lines.map((line) => {
    const mark = shape("path", { class: "jsp-mark", d: markPath(line.marker, 7, 7) });
    const sample = shape("svg", { width: 14, height: 14, "aria-hidden": "true" }, mark);
    sample.style.color = inkOf(line.family);
    const entry = element("span", "", line.title);
    entry.prepend(sample);
    return entry;
  });
  const counts = chartScene(scene).lines.flatMap((line) => line.points.map((point) => point.count));
  const most = Math.max(0, ...counts);
  const hasHoldout = scene.doc.fits?.some((fit) => fit.holdout);
  return [
    ...lines,
    hasHoldout ? element("span", "", "hollow: hold-out, not used for the line") : null,
    legendEntry("jsp-band-sample", most < 4 ? "all runs" : "middle half of the runs"),
    element("span", "jsp-legend-end", `median of ${most}; lines end at measured sizes`),
  ];
}

/** The fitted lines in words: what a call costs whatever its size, and what a byte costs. */
function fitTexts(scene: Scene): HTMLElement[] {
  return chartScene(scene).lines.flatMap((line) =>
    line.fits.map((fit) => {
      const rate = (slope: number): string => format.bytesPerSecond(1e9 / slope);
      const { exponent, high, low, ns_per_byte } = fit;
      const spread = low && high ? ` [${rate(high)}, ${rate(low)}]` : "";
      const slope = ns_per_byte > 0 ? ` + ${rate(ns_per_byte)}${spread}` : "";
      const power = exponent === null ? "" : `, exponent ${format.fixed(exponent, 2)}`;
      const sizes = `${format.bytes(fit.from_bytes)} to ${format.bytes(fit.to_bytes)}`;
      const cause = fit.cause === "" ? "" : ` (${fit.cause})`;
      const text = `${line.title}, ${sizes}${cause}: ${format.duration(fit.fixed_ns)}${slope}${power}`;
      return element("span", "jsp-fit-text", text);
    }),
  );
}

/** The stored waterfalls of the chosen size, each one click away. */
function replayOf(scene: Scene, shared: Shared): HTMLElement {
  const stored = scene.variants.flatMap((variant) => {
    const run = runAt(scene, variant.key);
    return run?.trace ? [{ variant, trace: run.trace }] : [];
  });
  const nodes = stored.map(({ variant, trace }) => {
    const title = `Waterfall of ${variant.title ?? variant.key} at ${format.bytes(scene.size)}`;
    const node = element("details", "jsp-more", element("summary", "", title));
    const fill = (): void => {
      const part = waterfall(trace, shared);
      node.append(part.node);
      part.paint?.();
    };
    node.addEventListener("toggle", fill, { once: true });
    node.open = variant.key === scene.variant;
    return node;
  });
  return element("div", "", ...nodes);
}
