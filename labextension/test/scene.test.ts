import { describe, expect, it } from "vitest";

import { criticalPath } from "../src/core/critical";
import { layoutLanes } from "../src/core/lanes";
import { LABEL_INK, PALETTE } from "../src/core/palette";
import { paintAxis, paintLanes, type Scene } from "../src/core/scene";
import { FAMILIES } from "../src/core/theme";
import { indexOf, type SpanSpec, traceOf } from "./make";

const PLAIN = { line: "#eee", accent: "#00f", font: "sans-serif" };
const COLOURS: Scene["colours"] = {
  ...PLAIN,
  background: "#fff",
  ink: "#111",
  quiet: "#666",
  kinds: [...FAMILIES.map((family) => PALETTE[family]), "#666"],
  labels: [...FAMILIES.map((family) => LABEL_INK[family]), "#666"],
};

/** Remembers the texts that were written; every other call does nothing. */
function fakeContext(): { context: CanvasRenderingContext2D; texts: string[] } {
  const texts: string[] = [];
  const known: Record<string, unknown> = {
    fillText: (text: string) => texts.push(text),
    measureText: (text: string) => ({ width: text.length * 6 }),
    font: "",
  };
  const context = new Proxy(known, {
    get: (target, key) => target[String(key)] ?? (() => undefined),
    set: () => true,
  });
  return { context: context as unknown as CanvasRenderingContext2D, texts };
}

class FakePath {
  rect(): void {}
}

function textsOf(spans: readonly SpanSpec[], wall: number, more: Partial<Scene> = {}): string[] {
  globalThis.Path2D ??= FakePath as unknown as typeof Path2D;
  const trace = { ...traceOf(spans), wall_ns: wall };
  const index = indexOf(trace);
  const { context, texts } = fakeContext();
  const range = { from: index.first_ns, to: index.last_ns };
  paintLanes(context, {
    trace,
    index,
    layout: layoutLanes(trace, index, []),
    path: criticalPath(trace, index),
    colours: COLOURS,
    camera: { range, left: 160, width: 800 },
    top: 0,
    height: 400,
    bright: null,
    isDim: false,
    cursor: null,
    area: null,
    ...more,
  });
  return texts.map((text) => text.replaceAll("\u00a0", " "));
}

describe("the picture of the lanes", () => {
  it("names lanes, and spans with time and bytes", () => {
    const texts = textsOf([{ start: 0, length: 900, size: 2_000 }], 1_000);
    expect(texts).toContain("worker 0 / thread 0");
    expect(texts).toContain("dumps 900 ns, 2.00 kB");
  });

  it("writes no names beside bars that stand close", () => {
    const spans = Array.from({ length: 500 }, (_, at) => ({ start: 500 + at * 10, length: 4 }));
    const texts = textsOf([{ start: 0, length: 490, name: 2 }, ...spans], 5_500);
    expect(texts.filter((text) => text.startsWith("dumps"))).toEqual([]);
    expect(texts.some((text) => text.startsWith("write"))).toBe(true);
  });

  it("paints a cursor, an area and a pinned span without a word more", () => {
    const more = { cursor: 0, isDim: true, area: { from: 10, to: 20 } };
    expect(textsOf([{ start: 0, length: 900 }], 1_000, more)).toEqual(
      textsOf([{ start: 0, length: 900 }], 1_000),
    );
  });

  it("has one unit on the axis, named at the last tick", () => {
    const { context, texts } = fakeContext();
    paintAxis(context, { range: { from: 0, to: 1.84e9 }, left: 0, width: 800 }, COLOURS, 10);
    expect(texts[0]).toBe("0");
    expect(texts.at(-1)).toContain("ms");
    expect(texts.slice(0, -1).some((text) => text.includes("ms"))).toBe(false);
  });
});
