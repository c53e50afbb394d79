/** Names of spans inside or beside their bars, as far as there is room. */

import { bytes, duration } from "../document/format";
import { type Label, labelFor, type Measure, measureWith, shortened } from "../kit/canvas";
import { firstAbove } from "../kit/sort";
import type { LaneRow } from "./layout";
import type { Strip } from "./paint";
import { levelFor } from "./pyramid";
import type { Scene } from "./scene";
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

export function paintLabels(
  context: CanvasRenderingContext2D,
  scene: Scene,
  rows: readonly LaneRow[],
): void {
  context.font = `12px ${scene.colours.font}`;
  context.textBaseline = "middle";
  const measure = measureWith(context);
  for (const strip of rows.flatMap((row) => row.strips)) {
    const visible = barsOf(scene, strip);
    if (visible !== null) {
      paintStrip(context, scene, strip, visible, measure);
    }
  }
}

/** The visible bars of a track; of many only the wide ones, and null where buckets are drawn. */
function barsOf({ camera, index }: Scene, strip: Strip): Visible | null {
  const { range, left, width } = camera;
  const scale = width / (range.to - range.from);
  if (levelFor(strip.pyramid, 1 / scale) !== null) {
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
  context: CanvasRenderingContext2D,
  scene: Scene,
  strip: Strip,
  { bars, isCrowded }: Visible,
  measure: Measure,
): void {
  const { camera, colours, index, bright } = scene;
  let low = camera.left;
  bars.forEach((bar, order) => {
    const high = isCrowded ? bar.to : (bars[order + 1]?.from ?? camera.left + camera.width);
    low = isCrowded ? bar.from : low;
    const kind = index.kind[bar.at] as number;
    const room = high - low;
    const label = room < LABEL_FROM_PX ? null : chooseLabel(scene, bar, low, high, measure);
    low = bar.to;
    if (label === null) {
      return;
    }
    const isDim = scene.isDim ? bar.at !== scene.cursor : bright !== null && bright[bar.at] !== 1;
    const y = strip.y + strip.height / 2 + 0.5;
    if (label.side === "inside" && kind === WAIT) {
      erase(context, scene, label, measure, y);
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

/** A wait is a thin line; its name interrupts it. */
function erase(
  context: CanvasRenderingContext2D,
  scene: Scene,
  label: Label,
  measure: Measure,
  y: number,
): void {
  context.fillStyle = scene.colours.background;
  context.fillRect(label.x - 4, y - 7, measure(label.text) + 8, 14);
}

function chooseLabel(
  scene: Scene,
  bar: Bar,
  low: number,
  high: number,
  measure: Measure,
): Label | null {
  const { trace, index } = scene;
  const span = index.span[bar.at] as number;
  const name = nameOf(trace, index, bar.at);
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
export function nameOf(trace: Scene["trace"], index: Scene["index"], at: number): string {
  const span = index.span[at] as number;
  const { name, stage } = index.columns;
  const words = trace.strings?.[name[span] as number];
  const title = trace.stages?.[stage[span] as number]?.title;
  return String(words || title || `span ${span}`);
}
