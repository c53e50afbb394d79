/** A canvas as sharp as the screen, and painting at most once a frame. */

/** Size a canvas in CSS pixels; null where there is no 2D context (a test, a lost GPU). */
export function fitted(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const ratio = globalThis.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

export interface Frame {
  request(): void;
  cancel(): void;
}

/** Many requests within a frame paint once. */
export function coalesced(paint: () => void): Frame {
  let handle = 0;
  return {
    request() {
      handle ||= requestAnimationFrame(() => {
        handle = 0;
        paint();
      });
    },
    cancel() {
      cancelAnimationFrame(handle);
      handle = 0;
    },
  };
}

// How wide a text is, and the longest of several that fits.
const widths = new Map<string, number>();
const MOST_REMEMBERED = 5_000;

export type Measure = (text: string) => number;

export function measureWith(context: CanvasRenderingContext2D): Measure {
  return (text) => {
    const key = `${context.font} ${text}`;
    const known = widths.get(key);
    if (known !== undefined) {
      return known;
    }
    if (widths.size > MOST_REMEMBERED) {
      widths.clear();
    }
    const { width } = context.measureText(text);
    widths.set(key, width);
    return width;
  };
}

export type Side = "inside" | "right" | "left";

export interface Label {
  readonly text: string;
  readonly side: Side;
  /** Where the text begins, px. */
  readonly x: number;
}

const PADDING = 6;

/**
 * Inside when it fits with room on each side; else right; else left; shortened before dropped.
 * `low` and `high` are where the room beside the bar ends.
 */
export function labelFor(
  texts: readonly string[],
  bar: { readonly from: number; readonly to: number },
  low: number,
  high: number,
  measure: Measure,
  canBeInside = true,
): Label | null {
  for (const text of texts) {
    const width = measure(text);
    if (canBeInside && width + 2 * PADDING <= bar.to - bar.from) {
      return { text, side: "inside", x: bar.from + PADDING };
    }
    if (bar.to + 2 * PADDING + width <= high) {
      return { text, side: "right", x: bar.to + PADDING };
    }
    if (bar.from - 2 * PADDING - width >= low) {
      return { text, side: "left", x: bar.from - PADDING - width };
    }
  }
  return null;
}

/** As much of a text as fits, with an ellipsis. */
export function shortened(text: string, room: number, measure: Measure): string {
  if (measure(text) <= room) {
    return text;
  }
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(`${text.slice(0, middle).trimEnd()}…`) <= room) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low === 0 ? "" : `${text.slice(0, low).trimEnd()}…`;
}
