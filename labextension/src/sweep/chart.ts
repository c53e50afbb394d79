/** A log-log chart as SVG: few points, so the browser's own accessibility and tooltips are kept. */

import { bytes, duration } from "../document/format";
import { path, shape, words } from "../kit/dom";
import { decades, logShare, logTicks, type Range } from "../kit/scale";
import { axisTitle, type Band, bandNotes, bandOf, LETTER_PX, wireOf } from "./band";
import { breaksOf, type Crossover, type Fit, lineAt, type SizePoint } from "./series";

export interface Line {
  readonly title: string;
  /** Why it is no choice; nothing where it is one. */
  readonly outside?: string;
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
const NAMES_PX = 160;
const NARROW_PX = 480;
/** Two sizes below the axis stand at least so far apart, px. */
const TICK_PX = 52;
const MARK = 4.5;
const LABEL_GAP = 15;
/** Two times beside it. */
const ROW_PX = 26;
/** Longer names are cut. */
const LONGEST_NAME = 17;

/** A line, its band and its marks have one colour: of a family, of a transport. */
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
    path("jsp-selected-size", `M${frame.x(chart.selected_bytes)} ${MARGIN.top}V${BOTTOM}`),
  );
  for (const line of chart.lines) {
    const group = shape("g", {}, ...lineOf(frame, line, chart.sizeText));
    if (line.wire.length > 0) {
      group.classList.add("jsp-measured-behind");
      group.append(...wireOf(frame, line));
    }
    group.style.color = inkOf(line.family);
    svg.append(group);
  }
  svg.append(
    ...labelsOf(frame, chart.lines),
    ...bandNotes(frame, chart.band),
    ...crossoverMarks(frame, chart),
  );
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
  const plain = (text: string): string => text.replace(/\.0+/, "");
  for (const size of logTicks(frame.sizes, (frame.right - MARGIN.left) / TICK_PX)) {
    const x = frame.x(size);
    lines.push(`M${x} ${MARGIN.top}V${BOTTOM}`);
    const at = { class: "jsp-tick-text", x, y: BOTTOM + 18, "text-anchor": "middle" };
    texts.push(words(plain(bytes(size)), at));
  }
  for (const time of logTicks(frame.times, (BOTTOM - MARGIN.top) / ROW_PX)) {
    const y = frame.y(time);
    lines.push(`M${MARGIN.left} ${y}H${frame.right}`);
    const at = { class: "jsp-tick-text", x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" };
    texts.push(words(plain(duration(time)), at));
  }
  return [path("jsp-grid-stroke", lines.join("")), ...texts];
}

/** Brackets between the two measured sizes where one overtakes another; words where there is room. */
function crossoverMarks(frame: Frame, { crossovers, lines }: Chart): SVGElement[] {
  const marks = lines.flatMap(({ points }) =>
    points.flatMap((point, at) => stepsTo(frame, point, points[at + 1] ?? point)),
  );
  const notes: { left: number; right: number; y: number }[] = [];
  return crossovers.flatMap(({ from_bytes, title, to_bytes }) => {
    const [x1, x2] = [frame.x(from_bytes), frame.x(to_bytes)];
    const room = Math.floor((frame.right - MARGIN.left) / LETTER_PX);
    // In two lines of the same length it covers the fewest lines.
    const most = Math.min(room, title.length / 2 + 12);
    const texts = [...linesOf(title, most), `${bytes(from_bytes)} to ${bytes(to_bytes)}`];
    const half = (Math.max(...texts.map((text) => text.length)) * LETTER_PX) / 2;
    const x = Math.max(MARGIN.left + half, Math.min(frame.right - half, (x1 + x2) / 2));
    const [left, right] = [Math.min(x1, x - half) - 4, Math.max(x2, x + half) + 4];
    const near = notes.flatMap((note) => (note.left < right && left < note.right ? [note.y] : []));
    const taken = marks.flatMap(([at = 0, y = 0]) => (at >= left && at <= right ? [y] : []));
    const own = lines.filter((line) => title.split(" overtakes ").includes(line.title));
    const all = own.flatMap(({ points }) => points);
    const ends = all.filter((point) => [from_bytes, to_bytes].includes(point.size_bytes));
    const turn = ends.reduce((sum, { median_ns }) => sum + frame.y(median_ns) / ends.length, 0);
    const y = freeHeight(taken, near, turn);
    const bracket = (at: number): string =>
      `M${x1} ${at - 4}v8M${x1} ${at}H${x2}M${x2} ${at - 4}v8`;
    if (y === null) {
      return [path("jsp-bracket", bracket(BOTTOM - 6), texts.join(", "))];
    }
    notes.push({ left, right, y });
    const at = { class: "jsp-series-note", x, "text-anchor": "middle" };
    const said = texts.map((text, row) => words(text, { ...at, y: y + 16 + row * LABEL_GAP }));
    return [path("jsp-bracket", bracket(y)), ...said];
  });
}

/** Places on the way from one point to the next: words stand on no line, if they can. */
function stepsTo({ x, y }: Frame, one: SizePoint, next: SizePoint): [number, number][] {
  const [x1, y1] = [x(one.size_bytes), y(one.median_ns)];
  const [wide, high] = [x(next.size_bytes) - x1, y(next.median_ns) - y1];
  return [0, 0.2, 0.4, 0.6, 0.8].map((share) => [x1 + share * wide, y1 + share * high]);
}

/** A bracket and its words are so high, px. */
const NOTE_PX = 56;

/** The height nearest to where lines turn, off each if that is near; null without room. */
function freeHeight(taken: number[], notes: number[], turn: number): number | null {
  const top = MARGIN.top + 8;
  const places = Array.from({ length: 16 }, (_, at) => top + (at / 15) * (BOTTOM - top - NOTE_PX));
  const off = (y: number, at: number): number => Math.abs(at - y - NOTE_PX / 2);
  const gap = (y: number): number => Math.min(...taken.map((each) => off(y, each)));
  const free = places.filter((y) => notes.every((note) => Math.abs(note - y) >= NOTE_PX));
  const far = (y: number): number => off(y, turn) + 3 * Math.max(0, NOTE_PX / 2 + 4 - gap(y));
  return free.toSorted((a, b) => far(a) - far(b))[0] ?? null;
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
    free = y + LABEL_GAP * namesOf(end.line).length;
    return { ...end, y };
  });
  const over = Math.max(0, free - LABEL_GAP - BOTTOM);
  return places.flatMap(({ line, y }) => {
    const { family, marker, outside, title } = line;
    const mark = path("jsp-mark", markPath(marker, frame.right + 14, y - over));
    mark.style.color = inkOf(family);
    const at = (row: number): object => ({
      x: frame.right + 24,
      y: y - over + 4 + LABEL_GAP * row,
    });
    const names = namesOf(line).map((name, row) => {
      const kind = name === outside ? "jsp-tick-text" : "jsp-series-label";
      const label = words(name, { class: kind, ...at(row) });
      label.append(words(title, {}, "title"));
      return label;
    });
    return [mark, ...names];
  });
}

/** The name at the end of a line, and that it is no choice. */
function namesOf({ title, outside }: Line): string[] {
  return [...linesOf(title), ...(outside ? [outside] : [])];
}

/** A long name in two lines; only what is too long for both is cut. */
function linesOf(title: string, most = LONGEST_NAME): string[] {
  const space = title.lastIndexOf(" ", most);
  const lines =
    title.length > most && space > 0 ? [title.slice(0, space), title.slice(space + 1)] : [title];
  return lines.map((each) => (each.length > most ? `${each.slice(0, most - 1)}…` : each));
}
