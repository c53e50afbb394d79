/** A log-log chart as SVG: few points, so the browser's own accessibility and tooltips are kept. */

import { bytes, duration } from "../document/format";
import { path, shape, words } from "../kit/dom";
import { decades, logShare, type Range } from "../kit/scale";
import { axisTitle, type Band, bandNotes, bandOf, wireOf } from "./band";
import { type Break, breaksOf, type Crossover, type Fit, lineAt, type SizePoint } from "./series";

export interface Line {
  readonly title: string;
  readonly family: string;
  readonly marker: Marker;
  readonly points: readonly SizePoint[];
  readonly fits: readonly Fit[];
  /** The same with a link behind it, predicted; empty without one. */
  readonly wire: readonly { readonly size_bytes: number; readonly ns: number }[];
}

export const MARKERS = ["circle", "square", "triangle", "diamond", "wedge"] as const;
export type Marker = (typeof MARKERS)[number];

export interface Chart {
  readonly lines: readonly Line[];
  readonly crossovers: readonly Crossover[];
  readonly selected_bytes: number;
  readonly label: string;
  readonly axis: string;
  readonly band: Band | null;
  sizeText(bytes: number): string;
}

const MARGIN = { left: 62, top: 30, bottom: 46 };
const HEIGHT = 412;
const BOTTOM = HEIGHT - MARGIN.bottom;
/** Room for the names of the lines; narrow charts leave them to the legend, px. */
const NAMES_PX = 152;
const NARROW_PX = 480;
/** Two sizes below the axis stand at least so far apart, px. */
const TICK_PX = 52;
const MARK = 4.5;
const LABEL_GAP = 15;
const PLAIN_SIZES = ["B", "kB", "MB", "GB", "TB"];
/** Longer names are cut. */
const LONGEST_NAME = 18;

/** A line, its band and its marks have the colour of a family. */
export function inkOf(family: string): string {
  return `var(--jsp-${family})`;
}

export interface Frame {
  readonly width: number;
  readonly left: number;
  readonly top: number;
  readonly bottom: number;
  /** Where the chart ends; the names of the lines stand behind it. */
  readonly right: number;
  readonly isNarrow: boolean;
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
  svg.append(
    ...bandOf(frame, chart.band),
    ...gridOf(frame),
    ...axisTitle(frame, chart.axis),
    words("median time", { class: "jsp-tick-text", x: MARGIN.left, y: MARGIN.top - 14 }),
    upright("jsp-selected-size", frame.x(chart.selected_bytes)),
    ...breakOf(frame, chart),
  );
  svg.append(...chart.crossovers.flatMap((each) => crossoverOf(frame, each, chart.lines)));
  for (const line of chart.lines) {
    const group = shape("g", {}, ...lineOf(frame, line, chart.sizeText));
    if (line.wire.length > 0) {
      group.classList.add("jsp-measured-behind");
      group.append(...wireOf(frame, line));
    }
    group.style.color = inkOf(line.family);
    svg.append(group);
  }
  svg.append(...labelsOf(frame, chart.lines), ...bandNotes(frame, chart.band));
  return svg;
}

function frameOf({ band, lines, crossovers }: Chart, width: number): Frame {
  const points = lines.flatMap((line) => line.points);
  const sizes = decades([
    ...points.map((point) => point.size_bytes),
    ...crossovers.flatMap((each) => [each.from_bytes, each.to_bytes]),
    ...(band === null ? [] : [band.low_bytes, band.high_bytes]),
  ]);
  const times = decades([
    ...points.flatMap((point) => [point.low_ns, point.high_ns]),
    ...lines.flatMap((line) => line.wire.map(({ ns }) => ns)),
  ]);
  const isNarrow = width < NARROW_PX;
  const right = width - (isNarrow ? TICK_PX / 2 : NAMES_PX);
  const [wide, high] = [right - MARGIN.left, BOTTOM - MARGIN.top];
  return {
    width,
    left: MARGIN.left,
    top: MARGIN.top,
    bottom: BOTTOM,
    right,
    isNarrow,
    sizes,
    times,
    x: (bytes) => MARGIN.left + logShare(bytes, sizes) * wide,
    y: (ns) => MARGIN.top + (1 - logShare(ns, times)) * high,
  };
}

function gridOf(frame: Frame): SVGElement[] {
  const texts: SVGElement[] = [];
  const lines: string[] = [];
  const { from, to } = frame.sizes;
  const step = Math.max(1, Math.ceil((TICK_PX * (to - from)) / (frame.right - MARGIN.left)));
  for (let power = from; power <= to; power += step) {
    const x = frame.x(10 ** power);
    lines.push(`M${x} ${MARGIN.top}V${BOTTOM}`);
    const text = `${10 ** (power % 3)}\u00a0${PLAIN_SIZES[Math.floor(power / 3)] ?? `1e${power}`}`;
    texts.push(words(text, { class: "jsp-tick-text", x, y: BOTTOM + 18, "text-anchor": "middle" }));
  }
  for (let power = frame.times.from; power <= frame.times.to; power += 1) {
    const y = frame.y(10 ** power);
    lines.push(`M${MARGIN.left} ${y}H${frame.right}`);
    const at = { class: "jsp-tick-text", x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" };
    texts.push(words(duration(10 ** power).replace(/\.0+/, ""), at));
  }
  return [path("jsp-grid-stroke", lines.join("")), ...texts];
}

function upright(className: string, x: number): SVGElement {
  return path(className, `M${x} ${MARGIN.top}V${BOTTOM}`);
}

/** One mark for a picture: the break at which a line jumps most. */
function breakOf(frame: Frame, { lines }: Chart): SVGElement[] {
  const size = ({ jump }: Break): number => Math.abs(Math.log(jump)) || 0;
  const all = lines.flatMap((line) => breaksOf(line.fits));
  const found = all.toSorted((a, b) => size(b) - size(a))[0];
  if (found === undefined) {
    return [];
  }
  const x = frame.x(Math.sqrt(found.from_bytes * found.to_bytes));
  const y = MARGIN.top + 12;
  const isRight = x - MARGIN.left < frame.right - x;
  const at = isRight ? { x: x + 6, "text-anchor": "start" } : { x: x - 6, "text-anchor": "end" };
  const note = { ...at, class: "jsp-series-note" };
  return [
    upright("jsp-break", x),
    ...[`changes at ${bytes(found.to_bytes)}`, ...found.cause.split("; ")].map((text, row) =>
      words(text, { ...note, y: y + row * LABEL_GAP }),
    ),
  ];
}

/** A bracket between the two measured sizes where one overtakes the other. */
function crossoverOf(
  frame: Frame,
  { title, from_bytes, to_bytes }: Crossover,
  lines: readonly Line[],
): SVGElement[] {
  const [x1, x2] = [frame.x(from_bytes), frame.x(to_bytes)];
  const y = freeHeight(frame, lines, x1 - BRACKET_ROOM, x2 + BRACKET_ROOM);
  const bracket = `M${x1} ${y - 4}v8M${x1} ${y}H${x2}M${x2} ${y - 4}v8`;
  const [low, high] = [MARGIN.left + BRACKET_ROOM, frame.right - BRACKET_ROOM];
  const x = Math.min(Math.max((x1 + x2) / 2, low), high);
  const at = { class: "jsp-series-note", x, y: y + 16, "text-anchor": "middle" };
  const sizes = `${bytes(from_bytes)} to ${bytes(to_bytes)}`;
  return [
    path("jsp-bracket", bracket),
    words(title, at),
    words(sizes, { ...at, y: y + 16 + LABEL_GAP }),
  ];
}

/** Half the width of the words at a bracket, px. */
const BRACKET_ROOM = 80;
/** Below the words at a break, px. */
const TOP_NOTES = MARGIN.top + 57;

/** The height between two places that is farthest from every line. */
function freeHeight(frame: Frame, lines: readonly Line[], from: number, to: number): number {
  const taken = lines
    .flatMap((line) => line.points)
    .filter((point) => frame.x(point.size_bytes) >= from && frame.x(point.size_bytes) <= to)
    .map((point) => frame.y(point.median_ns));
  const height = BOTTOM - TOP_NOTES - 48;
  const candidates = Array.from({ length: 12 }, (_, step) => TOP_NOTES + (step / 11) * height);
  const room = (y: number): number => Math.min(...taken.map((each) => Math.abs(each - y - 8)));
  return candidates.toSorted((a, b) => room(b) - room(a))[0] ?? TOP_NOTES;
}

function lineOf(frame: Frame, line: Line, sizeText: (bytes: number) => string): SVGElement[] {
  const fits = line.fits
    .filter((fit) => fit.fixed_ns !== null)
    .map((fit) => path("jsp-fit", fitPath(frame, fit)));
  return [
    ...unbroken(line).flatMap((points) => stretchOf(frame, points)),
    ...fits,
    ...line.points.map((point) => {
      const note = `${line.title} at ${sizeText(point.size_bytes)}: ${duration(point.median_ns)} (${duration(point.low_ns)} to ${duration(point.high_ns)}, ${point.count} runs)`;
      return path("jsp-mark", markAt(frame, line, point.size_bytes, point.median_ns), note);
    }),
  ];
}

/** A line does not go on over the break between two pieces. */
function unbroken({ points, fits }: Line): SizePoint[][] {
  const breaks = breaksOf(fits);
  const out: SizePoint[][] = [];
  for (const point of points) {
    const last = out.at(-1)?.at(-1);
    const isBroken = breaks.some(
      ({ from_bytes, to_bytes }) =>
        last !== undefined && last.size_bytes <= from_bytes && point.size_bytes >= to_bytes,
    );
    if (last === undefined || isBroken) {
      out.push([]);
    }
    out.at(-1)?.push(point);
  }
  return out;
}

function stretchOf(frame: Frame, points: readonly SizePoint[]): SVGElement[] {
  const at = (point: SizePoint, ns: number): string =>
    `${frame.x(point.size_bytes).toFixed(1)},${frame.y(ns).toFixed(1)}`;
  const upper = points.map((point) => at(point, point.high_ns));
  const lower = points.map((point) => at(point, point.low_ns)).toReversed();
  const middle = points.map((point) => at(point, point.median_ns)).join(" ");
  return [
    shape("polygon", { class: "jsp-band", points: [...upper, ...lower].join(" ") }),
    shape("polyline", { class: "jsp-series", points: middle }),
  ];
}

export function markAt(frame: Frame, { marker }: Line, size: number, ns: number): string {
  return markPath(marker, frame.x(size), frame.y(ns));
}

const FIT_STEPS = 24;

/** A straight line in time over size is a curve on logarithmic axes. */
function fitPath(frame: Frame, fit: Fit): string {
  const points = Array.from({ length: FIT_STEPS + 1 }, (_, step) => {
    const size = fit.from_bytes * (fit.to_bytes / fit.from_bytes) ** (step / FIT_STEPS);
    const ns = Math.max(1e-3, lineAt(fit, size) ?? 0);
    return `${frame.x(size).toFixed(1)} ${frame.y(ns).toFixed(1)}`;
  });
  return `M${points.join("L")}`;
}

export function markPath(marker: Marker, x: number, y: number, r = MARK): string {
  const paths: Readonly<Record<Marker, string>> = {
    circle: `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
    square: `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    triangle: `M${x} ${y - r - 1}l${r + 1} ${2 * r}h${-2 * r - 2}z`,
    diamond: `M${x} ${y - r - 1}l${r + 1} ${r + 1}l${-r - 1} ${r + 1}l${-r - 1} ${-r - 1}z`,
    wedge: `M${x} ${y + r + 1}l${r + 1} ${-2 * r}h${-2 * r - 2}z`,
  };
  return paths[marker];
}

/** Names at the ends of the lines, moved apart where they would cover each other. */
function labelsOf(frame: Frame, lines: readonly Line[]): SVGElement[] {
  const ends = (frame.isNarrow ? [] : lines)
    .flatMap((line) => {
      const last = line.points.at(-1);
      const wired = line.wire.at(-1)?.ns;
      const end = wired ?? last?.median_ns;
      return end === undefined ? [] : [{ line, y: frame.y(end) }];
    })
    .toSorted((a, b) => a.y - b.y);
  let free = MARGIN.top;
  const places = ends.map((end) => {
    const y = Math.max(end.y, free);
    free = y + LABEL_GAP * linesOf(end.line.title).length;
    return { ...end, y };
  });
  const over = Math.max(0, free - LABEL_GAP - BOTTOM);
  return places.flatMap(({ line, y }) => {
    const x = frame.right + 10;
    const { title } = line;
    const names = linesOf(title);
    const at = (row: number): object => ({ x, y: y - over + 4 + LABEL_GAP * row });
    return names.map((name, row) => {
      const label = words(name, { class: "jsp-series-label", ...at(row) });
      label.append(words(title, {}, "title"));
      return label;
    });
  });
}

/** A long name in two lines; only what is too long for both is cut. */
function linesOf(title: string): string[] {
  const space = title.lastIndexOf(" ", LONGEST_NAME);
  const lines =
    title.length > LONGEST_NAME && space > 0
      ? [title.slice(0, space), title.slice(space + 1)]
      : [title];
  return lines.map((each) =>
    each.length > LONGEST_NAME ? `${each.slice(0, LONGEST_NAME - 1)}…` : each,
  );
}
