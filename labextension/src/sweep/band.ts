/** What a chart has besides its lines: its title below, the best chunk size, and the wire. */

import type { BestSize } from "../document/document";
import { duration } from "../document/format";
import { path, shape, words } from "../kit/dom";
import { type Frame, type Line, markAt } from "./chart";

/** The best size with its interval, and what costs time on either side. */
export interface Band extends Omit<BestSize, "parameter"> {
  readonly label: string;
}

/** A letter of a note is about so wide, px. */
export const LETTER_PX = 6.6;

export function bandOf(frame: Frame, band: Band | null): SVGElement[] {
  if (band === null) {
    return [];
  }
  const { bottom, top } = frame;
  const [x1, x2] = [frame.x(band.low_bytes), frame.x(band.high_bytes)];
  const box = { x: x1, y: top, width: Math.max(2, x2 - x1), height: bottom - top };
  return [
    shape("rect", { class: "jsp-best-band", ...box }),
    path("jsp-best", `M${frame.x(band.size_bytes)} ${top}V${bottom}`),
  ];
}

/** Over everything else, so that no line goes through them. */
export function bandNotes(frame: Frame, band: Band | null): SVGElement[] {
  if (band === null) {
    return [];
  }
  const { bottom, left, right, top } = frame;
  const [x1, x, x2] = [band.low_bytes, band.size_bytes, band.high_bytes].map(frame.x) as [
    number,
    number,
    number,
  ];
  /** Words around a place, as far inside the chart as they need. */
  const note = (told: string, middle: number, y: number): SVGElement => {
    // Of two stages the first one has to do where there is no room.
    const text = told.length * LETTER_PX > right - left ? (told.split(" and ")[0] ?? "") : told;
    const half = (text.length * LETTER_PX) / 2;
    const at = Math.max(left + half, Math.min(right - half, middle));
    return words(text, { class: "jsp-series-note", x: at, y, "text-anchor": "middle" });
  };
  const beside = (text: string): number => (text.length * LETTER_PX) / 2 + 8;
  const [below, above] = [`◂ ${band.below}`, `${band.above} ▸`];
  return [
    note(band.label, x, top + 12),
    ...(band.below === "" ? [] : [note(below, x1 - beside(below), bottom - 24)]),
    ...(band.above === "" ? [] : [note(above, x2 + beside(above), bottom - 8)]),
  ];
}

export function axisTitle(frame: Frame, title: string): SVGElement[] {
  const at = { x: (frame.left + frame.right) / 2, y: frame.bottom + 36, "text-anchor": "middle" };
  return [words(title, { class: "jsp-tick-text", ...at })];
}

/** Measured plus wire, dashed and hollow: nobody has measured it. */
export function wireOf(frame: Frame, line: Line): SVGElement[] {
  const places = line.wire.map(({ size_bytes, ns }) => [frame.x(size_bytes), frame.y(ns)]);
  const points = places.map((place) => place.map((each) => each.toFixed(1)).join(",")).join(" ");
  const marks = line.wire.map(({ ns, size_bytes }) => {
    const note = `${line.title} over the network, predicted: ${duration(ns)}`;
    return path("jsp-mark jsp-hollow", markAt(frame, line, size_bytes, ns), note);
  });
  return [shape("polyline", { class: "jsp-series jsp-wire-line", points }), ...marks];
}
