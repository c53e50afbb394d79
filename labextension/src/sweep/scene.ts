/** What the parts of a size sweep share: what is chosen, and how sizes and lines are named. */

import type { Stage, SweepDocument, Variant } from "../document/document";
import * as format from "../document/format";
import { familyOf, WAYS } from "../kit/theme";
import type { Band } from "./band";
import { type Chart, type Line, MARKERS } from "./chart";
import { type Ride, wireNs } from "./link";
import {
  choicesOf,
  type Fit,
  fitsOf,
  isAlias,
  movedAt,
  outsideOf,
  parameterAt,
  type Run,
  runsOf,
  seriesOf,
} from "./series";

export interface SizeScene {
  readonly doc: SweepDocument;
  readonly stages: ReadonlyMap<string, Stage>;
  readonly sizes: readonly number[];
  readonly variants: readonly Variant[];
  size: number;
  isCold: boolean;
  /** Empty: transports side by side; else the stages of this variant. */
  variant: string;
  /** Of the link, bytes/s; null without one. */
  link: number | null;
}

export function chartScene(scene: SizeScene): Chart {
  const { doc, isCold, size } = scene;
  const lines = scene.variant === "" ? transportLines(scene) : stageLines(scene, scene.variant);
  const crossovers = scene.variant === "" ? choicesOf(doc, isCold) : [];
  const names = lines.map((line) => line.title).join(", ");
  const label = `Time over size, both logarithmic, ${isCold ? "cold" : "warm"} runs of ${names}. The Table view has the numbers.`;
  const sizeText = (bytes: number): string => sizeName(doc, bytes);
  const axis = axisOf(doc);
  return { lines, crossovers, selected_bytes: size, label, axis, band: bandIn(scene), sizeText };
}

function axisOf({ kind, parameter }: SweepDocument): string {
  const name = parameter ? ` (${parameter})` : "";
  return kind === "chunks" ? `chunk size${name}` : `size of the value${name}`;
}

/** "8.00 MB, n = 1,000,000". */
export function sizeName(doc: SweepDocument, bytes: number): string {
  const asked = parameterAt(doc, bytes);
  const name = doc.parameter || "parameter";
  return asked === null || asked === bytes
    ? format.bytes(bytes)
    : `${format.bytes(bytes)}, ${name} = ${format.count(asked)}`;
}

function bandIn({ doc, stages }: SizeScene): Band | null {
  const { best, parameter } = doc;
  if (best == null) {
    return null;
  }
  const asked =
    best.parameter == null || !parameter ? "" : ` (${parameter} = ${format.count(best.parameter)})`;
  const told = (key: string): string => {
    const title = stages.get(key)?.title ?? key;
    return title === "" ? "" : `limited by ${title}`;
  };
  return {
    ...best,
    label: `best ${format.bytes(best.size_bytes)}${asked}`,
    below: told(best.below ?? ""),
    above: told(best.above ?? ""),
  };
}

/** Measured and wire together at each size; sizes whose bytes nobody counted are left out. */
function wireLine(
  { doc, isCold, link }: SizeScene,
  variant: string,
  points: Line["points"],
): Line["wire"] {
  if (link === null) {
    return [];
  }
  return points.flatMap(({ median_ns, size_bytes }) => {
    const moved = movedAt(doc, variant, isCold, size_bytes);
    return moved === null ? [] : [{ size_bytes, ns: median_ns + wireNs(moved, link) }];
  });
}

function transportLines(scene: SizeScene): Line[] {
  const { doc, isCold, variants } = scene;
  const isTaken = (way: string): number => Number(variants.some(({ key }) => key === way));
  const turns = WAYS.toSorted((one, other) => isTaken(one) - isTaken(other));
  return variants.map((variant, at) => {
    const points = seriesOf(doc, variant.key, isCold);
    // One look a transport, in every sweep; what is none takes one that is free.
    const free = turns[at % turns.length] as string;
    const way = WAYS.includes(variant.key) ? variant.key : free;
    return {
      title: String(variant.title ?? variant.key),
      outside: outsideOf(variant),
      family: `way-${way}`,
      marker: markerAt(WAYS.indexOf(way)),
      points,
      fits: fitsIn(scene, variant.key, null),
      wire: wireLine(scene, variant.key, points),
    };
  });
}

function markerAt(at: number): Line["marker"] {
  return MARKERS[at % MARKERS.length] ?? "circle";
}

function fitsIn({ doc, isCold }: SizeScene, variant: string, stage: string | null): Fit[] {
  return fitsOf(doc).filter(
    (fit) => fit.variant === variant && fit.stage === stage && fit.cold === isCold,
  );
}

/** Below this share of the time at every size a stage has no line: it would hide the others. */
const LEAST_SHARE = 0.05;

/** How many stages of the chosen variant have no line. */
export function smallStages(scene: SizeScene): number {
  const [small] = scene.variant === "" ? [[]] : stagesBySize(scene, scene.variant);
  return small.length;
}

/** The lines of the stages of a variant: those that are small at every size, and the others. */
function stagesBySize(scene: SizeScene, variant: string): [Line[], Line[]] {
  const { doc, isCold, stages } = scene;
  const walls = new Map(
    seriesOf(doc, variant, isCold).map(({ median_ns, size_bytes }) => [size_bytes, median_ns]),
  );
  const isSmall = ({ points }: Line): boolean =>
    points.every(
      ({ median_ns, size_bytes }) => median_ns < LEAST_SHARE * (walls.get(size_bytes) ?? 0),
    );
  const keys = [...stages.values()].toSorted((a, b) => a.order - b.order).map((stage) => stage.key);
  const lines = keys
    .map((key, at) => ({
      title: String(stages.get(key)?.title ?? key),
      family: familyOf(stages.get(key)?.family) as string,
      marker: markerAt(at),
      points: seriesOf(doc, variant, isCold, key),
      fits: fitsIn(scene, variant, key),
      wire: [],
    }))
    .filter((line) => line.points.length > 0);
  return [lines.filter(isSmall), lines.filter((line) => !isSmall(line))];
}

function stageLines(scene: SizeScene, variant: string): Line[] {
  const { doc, isCold } = scene;
  const [, lines] = stagesBySize(scene, variant);
  const points = seriesOf(doc, variant, isCold);
  const whole: Line = {
    title: "Wall time",
    family: "ink",
    marker: "circle",
    points,
    fits: [],
    wire: wireLine(scene, variant, points),
  };
  // The U of the whole is what a chunk size is chosen by.
  return doc.kind === "chunks" || scene.link !== null ? [whole, ...lines] : lines;
}

export function runAt({ doc, size, isCold }: SizeScene, variant: string): Run | undefined {
  return runsOf(doc, variant).find((run) => run.point.size_bytes === size && run.cold === isCold);
}

/** What each variant would do over a link at the chosen size. */
export function ridesOf(scene: SizeScene): Ride[] {
  return scene.variants.flatMap((variant) => {
    const run = runAt(scene, variant.key);
    if (run === undefined) {
      return [];
    }
    const ride: Ride = {
      title: String(variant.title ?? variant.key),
      wall_ns: run.point.wall_ns,
      moved_bytes: movedAt(scene.doc, variant.key, scene.isCold, scene.size),
      isCompressed: typeof variant.facts?.compressed_bytes === "number",
      isAlias: isAlias(variant),
    };
    return [ride];
  });
}
