/** A log-log chart as SVG: few points, so the browser's own accessibility and tooltips are kept. */

import { duration } from "../core/format";
import { decades, logShare, type Range } from "../core/scale";
import type { Crossover, Fit, SizePoint } from "../core/series";
import { shape, words } from "./svg";

export interface Line {
  readonly title: string;
  readonly family: string;
  readonly marker: Marker;
  readonly points: readonly SizePoint[];
  readonly fits: readonly Fit[];
}

export const MARKERS = ["circle", "square", "triangle", "diamond", "cross"] as const;
export type Marker = (typeof MARKERS)[number];

export interface Chart {
  readonly lines: readonly Line[];
  readonly crossovers: readonly Crossover[];
  readonly selected_bytes: number;
  readonly label: string;
}

const MARGIN = { left: 62, right: 138, top: 14, bottom: 30 };
const HEIGHT = 380;
const MARK = 4.5;
const LABEL_GAP = 15;
const PLAIN_SIZES = ["B", "kB", "MB", "GB", "TB"];

interface Frame {
  readonly width: number;
  readonly sizes: Range;
  readonly times: Range;
  x(bytes: number): number;
  y(ns: number): number;
}

/** Where the first and the last of some sizes stand, px: a slider below aligns with them. */
export function sizeExtent(
  chart: Chart,
  width: number,
  sizes: readonly number[],
): [number, number] {
  const frame = frameOf(chart, width);
  return [frame.x(sizes[0] ?? 1), frame.x(sizes.at(-1) ?? 1)];
}

export function chartOf(chart: Chart, width: number): SVGElement {
  const frame = frameOf(chart, width);
  const svg = shape("svg", { class: "jsp-chart", width, height: HEIGHT, role: "img" });
  svg.setAttribute("aria-label", chart.label);
  svg.append(...gridOf(frame), selection(frame, chart.selected_bytes));
  svg.append(
    ...chart.crossovers.flatMap((crossover) => crossoverOf(frame, crossover, chart.lines)),
  );
  for (const line of chart.lines) {
    svg.append(...lineOf(frame, line));
  }
  svg.append(...labelsOf(frame, chart.lines));
  return svg;
}

function frameOf({ lines, crossovers }: Chart, width: number): Frame {
  const points = lines.flatMap((line) => line.points);
  const sizes = decades([
    ...points.map((point) => point.size_bytes),
    ...crossovers.flatMap((each) => [each.from_bytes, each.to_bytes]),
  ]);
  const times = decades(points.flatMap((point) => [point.low_ns, point.high_ns]));
  const [wide, high] = [width - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom];
  return {
    width,
    sizes,
    times,
    x: (bytes) => MARGIN.left + logShare(bytes, sizes) * wide,
    y: (ns) => MARGIN.top + (1 - logShare(ns, times)) * high,
  };
}

function gridOf(frame: Frame): SVGElement[] {
  const nodes: SVGElement[] = [];
  const bottom = HEIGHT - MARGIN.bottom;
  for (let power = frame.sizes.from; power <= frame.sizes.to; power += 1) {
    const x = frame.x(10 ** power);
    nodes.push(
      shape("line", { class: "jsp-grid-stroke", x1: x, x2: x, y1: MARGIN.top, y2: bottom }),
    );
    const text = `${10 ** (power % 3)}\u00a0${PLAIN_SIZES[Math.floor(power / 3)] ?? `1e${power}`}`;
    nodes.push(words(text, { class: "jsp-tick-text", x, y: bottom + 18, "text-anchor": "middle" }));
  }
  for (let power = frame.times.from; power <= frame.times.to; power += 1) {
    const y = frame.y(10 ** power);
    const right = frame.width - MARGIN.right;
    nodes.push(
      shape("line", { class: "jsp-grid-stroke", x1: MARGIN.left, x2: right, y1: y, y2: y }),
    );
    const attributes = {
      class: "jsp-tick-text",
      x: MARGIN.left - 8,
      y: y + 4,
      "text-anchor": "end",
    };
    nodes.push(words(duration(10 ** power).replace(/\.0+/, ""), attributes));
  }
  return nodes;
}

function selection(frame: Frame, bytes: number): SVGElement {
  const x = frame.x(bytes);
  return shape("line", {
    class: "jsp-selected-size",
    x1: x,
    x2: x,
    y1: MARGIN.top,
    y2: HEIGHT - MARGIN.bottom,
  });
}

/** A bracket between the two measured sizes where one overtakes the other. */
function crossoverOf(
  frame: Frame,
  { title, from_bytes, to_bytes }: Crossover,
  lines: readonly Line[],
): SVGElement[] {
  const [x1, x2] = [frame.x(from_bytes), frame.x(to_bytes)];
  const y = freeHeight(frame, lines, x1 - BRACKET_ROOM, x2 + BRACKET_ROOM);
  const path = `M${x1} ${y - 4}v8M${x1} ${y}H${x2}M${x2} ${y - 4}v8`;
  const at = { class: "jsp-series-note", x: (x1 + x2) / 2, y: y + 16, "text-anchor": "middle" };
  return [shape("path", { class: "jsp-bracket", d: path }), words(title, at)];
}

/** Half the width of the words at a bracket, px. */
const BRACKET_ROOM = 70;

/** The height between two places that is farthest from every line. */
function freeHeight(frame: Frame, lines: readonly Line[], from: number, to: number): number {
  const taken = lines
    .flatMap((line) => line.points)
    .filter((point) => frame.x(point.size_bytes) >= from && frame.x(point.size_bytes) <= to)
    .map((point) => frame.y(point.median_ns));
  const candidates = Array.from(
    { length: 12 },
    (_, step) => MARGIN.top + 16 + (step / 11) * (HEIGHT - MARGIN.top - MARGIN.bottom - 48),
  );
  const room = (y: number): number => Math.min(...taken.map((each) => Math.abs(each - y - 8)));
  return candidates.toSorted((a, b) => room(b) - room(a))[0] ?? MARGIN.top + 16;
}

function lineOf(frame: Frame, line: Line): SVGElement[] {
  const { points, family } = line;
  const at = (point: SizePoint, ns: number): string =>
    `${frame.x(point.size_bytes).toFixed(1)},${frame.y(ns).toFixed(1)}`;
  const upper = points.map((point) => at(point, point.high_ns));
  const lower = points.map((point) => at(point, point.low_ns)).toReversed();
  const middle = points.map((point) => at(point, point.median_ns)).join(" ");
  const band = shape("polygon", {
    class: `jsp-band jsp-ink-${family}`,
    points: [...upper, ...lower].join(" "),
  });
  const fits = line.fits.map((fit) =>
    shape("path", { class: `jsp-fit jsp-ink-${family}`, d: fitPath(frame, fit) }),
  );
  const marks = points.map((point) => {
    const note = `${line.title}, ${duration(point.median_ns)} (${duration(point.low_ns)} to ${duration(point.high_ns)}, ${point.count} runs)`;
    const title = shape("title", {});
    title.textContent = note;
    const [x, y] = [frame.x(point.size_bytes), frame.y(point.median_ns)];
    return shape(
      "path",
      { class: `jsp-mark jsp-ink-${family}`, d: markPath(line.marker, x, y) },
      title,
    );
  });
  return [
    band,
    ...fits,
    shape("polyline", { class: `jsp-series jsp-ink-${family}`, points: middle }),
    ...marks,
  ];
}

const FIT_STEPS = 24;

/** A straight line in time over size is a curve on logarithmic axes. */
function fitPath(frame: Frame, fit: Fit): string {
  const points = Array.from({ length: FIT_STEPS + 1 }, (_, step) => {
    const bytes = fit.from_bytes * (fit.to_bytes / fit.from_bytes) ** (step / FIT_STEPS);
    const ns = Math.max(1e-3, fit.fixed_ns + fit.ns_per_byte * bytes);
    return `${frame.x(bytes).toFixed(1)} ${frame.y(ns).toFixed(1)}`;
  });
  return `M${points.join("L")}`;
}

export function markPath(marker: Marker, x: number, y: number, r = MARK): string {
  const paths: Readonly<Record<Marker, string>> = {
    circle: `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
    square: `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    triangle: `M${x} ${y - r - 1}l${r + 1} ${2 * r}h${-2 * r - 2}z`,
    diamond: `M${x} ${y - r - 1}l${r + 1} ${r + 1}l${-r - 1} ${r + 1}l${-r - 1} ${-r - 1}z`,
    cross: `M${x - r} ${y - 1.5}h${r - 1.5}v${-r + 1.5}h3v${r - 1.5}h${r - 1.5}v3h${-r + 1.5}v${r - 1.5}h-3v${-r + 1.5}h${-r + 1.5}z`,
  };
  return paths[marker];
}

/** Names at the ends of the lines, moved apart where they would cover each other. */
function labelsOf(frame: Frame, lines: readonly Line[]): SVGElement[] {
  const ends = lines
    .flatMap((line) => {
      const last = line.points.at(-1);
      return last === undefined ? [] : [{ line, y: frame.y(last.median_ns) }];
    })
    .toSorted((a, b) => a.y - b.y);
  let free = MARGIN.top;
  const places = ends.map(({ line, y }) => {
    const place = Math.max(y, free);
    free = place + LABEL_GAP;
    return { line, y: place };
  });
  const over = Math.max(0, free - LABEL_GAP - (HEIGHT - MARGIN.bottom));
  return places.map(({ line, y }) => {
    const x = frame.width - MARGIN.right + 10;
    const text = line.title.length > 18 ? `${line.title.slice(0, 17)}…` : line.title;
    const label = words(text, { class: "jsp-series-label", x, y: y - over + 4 });
    const title = shape("title", {});
    title.textContent = line.title;
    label.append(title);
    return label;
  });
}
