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

export function wantsStillness(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
