/** Names of spans inside or beside their bars, as far as there is room. */

import { bytes, duration } from "../document/format";
import { type Label, labelFor, type Measure, measureWith, shortened } from "../kit/canvas";
import { firstAbove } from "../kit/sort";
import { stripsOf } from "./layout";
import type { Strip } from "./paint";
import { levelFor } from "./pyramid";
import type { Canvas } from "./scene";
import { WAIT } from "./tracks";

/** Of more visible spans only wide bars get names: beside a texture they would be noise. */
const MOST_SPANS = 400;
/** Narrower bars get no shortened name, px. */
const NAME_FROM_PX = 48;
/** Where there is less room, no text is made, px. */
const LABEL_FROM_PX = 18;
/** Beside a bar, names are written while so few spans are visible. */
const BESIDE_MOST = 40;

interface Bar {
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

interface Visible {
  readonly bars: readonly Bar[];
  /** Names only inside: beside a bar stands the next one. */
  readonly isCrowded: boolean;
}

export function paintLabels(canvas: Canvas): void {
  const { colours, context, rows } = canvas;
  context.font = `12px ${colours.font}`;
  context.textBaseline = "middle";
  const measure = measureWith(context);
  for (const strip of stripsOf(rows)) {
    const visible = barsOf(canvas, strip);
    if (visible !== null) {
      paintStrip(canvas, strip, visible, measure);
    }
  }
}

/** The visible bars of a track; of many only the wide ones, and null where buckets are drawn. */
function barsOf({ camera, index }: Canvas, strip: Strip): Visible | null {
  const { range, left, width } = camera;
  const scale = width / (range.to - range.from);
  if (levelFor(strip.track.pyramid, 1 / scale) !== null) {
    return null;
  }
  const { from: first, to: last } = strip.track;
  const bars: Bar[] = [];
  for (let at = firstAbove(index.reach, range.from, first, last); at < last; at += 1) {
    const from = left + ((index.start[at] as number) - range.from) * scale;
    if (from > left + width) {
      break;
    }
    const to = left + ((index.end[at] as number) - range.from) * scale;
    bars.push({
      at,
      from: Math.max(left, from),
      to: Math.min(left + width, Math.max(to, from + 1)),
    });
  }
  const isCrowded = bars.length > BESIDE_MOST;
  const shown =
    bars.length > MOST_SPANS ? bars.filter((bar) => bar.to - bar.from >= NAME_FROM_PX) : bars;
  return { bars: shown, isCrowded };
}

function paintStrip(
  canvas: Canvas,
  strip: Strip,
  { bars, isCrowded }: Visible,
  measure: Measure,
): void {
  const { camera, colours, context, cursor, found, index, isPinned } = canvas;
  let low = camera.left;
  bars.forEach((bar, order) => {
    const high = isCrowded ? bar.to : (bars[order + 1]?.from ?? camera.left + camera.width);
    low = isCrowded ? bar.from : low;
    const kind = index.kind[bar.at] as number;
    const room = high - low;
    const label = room < LABEL_FROM_PX ? null : chooseLabel(canvas, bar, low, high, measure);
    low = bar.to;
    if (label === null) {
      return;
    }
    const isDim = isPinned ? bar.at !== cursor : found !== null && found[bar.at] !== 1;
    const y = strip.y + strip.height / 2 + 0.5;
    if (label.side === "inside" && kind === WAIT) {
      // A wait is a thin line; its name interrupts it.
      context.fillStyle = colours.background;
      context.fillRect(label.x - 4, y - 7, measure(label.text) + 8, 14);
    }
    const isOnBar = label.side === "inside" && kind !== WAIT && !isDim;
    context.fillStyle = isOnBar ? (colours.labels[kind] as string) : colours.quiet;
    if (isDim && label.side === "inside") {
      context.fillStyle = colours.ink;
    }
    context.fillText(label.text, label.x, y);
    low = label.side === "right" ? label.x + measure(label.text) + 4 : bar.to;
  });
}

function chooseLabel(
  { index, trace }: Canvas,
  bar: Bar,
  low: number,
  high: number,
  measure: Measure,
): Label | null {
  const span = index.span[bar.at] as number;
  const name = nameOf(trace, index, span);
  const time = duration((index.end[bar.at] as number) - (index.start[bar.at] as number));
  const size = index.columns.size[span] as number;
  const texts = [
    ...(size >= 0 ? [`${name} ${time}, ${bytes(size)}`] : []),
    `${name} ${time}`,
    name,
  ];
  const label = labelFor(texts, bar, low, high, measure);
  if (label !== null || bar.to - bar.from < NAME_FROM_PX) {
    return label;
  }
  const text = shortened(name, bar.to - bar.from - 12, measure);
  return text === "" ? null : { text, side: "inside", x: bar.from + 6 };
}

/** The name that was recorded, else the title of the stage. */
function nameOf(trace: Canvas["trace"], { columns }: Canvas["index"], span: number): string {
  const { name, stage } = columns;
  const words = trace.strings?.[name[span] as number];
  return String(words || trace.stages?.[stage[span] as number]?.title || `span ${span}`);
}
