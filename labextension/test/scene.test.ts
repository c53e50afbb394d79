import { describe, expect, it } from "vitest";
import { FAMILIES } from "../src/kit/theme";
import { layoutLanes } from "../src/lanes/layout";
import { arrowsOf, paintAxis, paintLanes, type Scene } from "../src/lanes/scene";
import { criticalPath } from "../src/waterfall/critical";
import { indexOf, type SpanSpec, traceOf } from "./make";
import { THEME } from "./theme";

const PLAIN = { line: "#eee", accent: "#00f", container: "#ddd", warn: "#b50", font: "sans-serif" };
const COLOURS: Scene["colours"] = {
  ...PLAIN,
  background: "#fff",
  ink: "#111",
  quiet: "#666",
  kinds: [...FAMILIES.map((family) => THEME.families[family].color), "#666"],
  labels: [...FAMILIES.map((family) => THEME.families[family].label), "#666"],
};

/** Remembers the texts that were written; every other call does nothing. */
function fakeContext(): {
  context: CanvasRenderingContext2D;
  texts: string[];
  curves: number[][];
} {
  const texts: string[] = [];
  const curves: number[][] = [];
  const known: Record<string, unknown> = {
    bezierCurveTo: (...places: number[]) => curves.push(places),
    fillText: (text: string) => texts.push(text),
    measureText: (text: string) => ({ width: text.length * 6 }),
    font: "",
  };
  const context = new Proxy(known, {
    get: (target, key) => target[String(key)] ?? (() => undefined),
    set: () => true,
  });
  return { context: context as unknown as CanvasRenderingContext2D, texts, curves };
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
    layout: layoutLanes(trace, index),
    path: criticalPath(trace, index),
    colours: COLOURS,
    camera: { range, left: 160, width: 800 },
    top: 0,
    height: 400,
    found: null,
    isPinned: false,
    cursor: null,
    arrows: [],
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
    const more = { cursor: 0, isPinned: true, area: { from: 10, to: 20 } };
    expect(textsOf([{ start: 0, length: 900 }], 1_000, more)).toEqual(
      textsOf([{ start: 0, length: 900 }], 1_000),
    );
  });

  it("has one unit on the axis, named at the last tick", () => {
    const { context, texts } = fakeContext();
    paintAxis(context, { range: { from: 0, to: 1.84e9 }, left: 0, width: 800 }, COLOURS, 10);
    expect(texts[0]).toBe("0.0");
    expect(texts.at(-1)).toContain("\u00a0s");
    expect(texts.slice(0, -1).some((text) => text.includes("s"))).toBe(false);
  });
});

describe("arrows", () => {
  const SPANS: SpanSpec[] = [
    { start: 0, length: 100, lane: 0 },
    { start: 10, length: 20, lane: 0, parent: 0 },
    { start: 300, length: 50, lane: 1, parent: 1 },
    { start: 20, length: 60, lane: 2, parent: 0 },
  ];
  const arrows = (cursorSpan: number, errors: readonly number[] = []) => {
    const trace = traceOf(SPANS, 3);
    const lanes = trace.lanes.map((lane, at) => ({ ...lane, clock_error_ns: errors[at] ?? 0 }));
    const doc = { ...trace, lanes };
    const index = indexOf(doc);
    const layout = layoutLanes(doc, index);
    return arrowsOf({ trace: doc, index, layout }, index.span.indexOf(cursorSpan));
  };

  it("lead from a span to what it caused on other lanes, and to it from its cause", () => {
    expect(arrows(1)).toMatchObject([{ from_ns: 30, to_ns: 300 }]);
    expect(arrows(2)).toEqual(arrows(1));
    expect(arrows(1)[0]?.y0).toBeLessThan(arrows(1)[0]?.y1 ?? 0);
  });

  it("leave a span that is still running where the other begins, and follow nesting nowhere", () => {
    expect(arrows(0)).toMatchObject([{ from_ns: 20, to_ns: 20 }]);
  });

  it("are not drawn when they are shorter than the clocks are uncertain", () => {
    expect(arrows(2, [135, 136])).toEqual([]);
    expect(arrows(2, [130, 140])).toHaveLength(1);
  });

  it("are painted as curves between the bars", () => {
    globalThis.Path2D ??= FakePath as unknown as typeof Path2D;
    const trace = traceOf(SPANS, 3);
    const index = indexOf(trace);
    const { context, curves } = fakeContext();
    const layout = layoutLanes(trace, index);
    paintLanes(context, {
      trace,
      index,
      layout,
      path: [],
      colours: COLOURS,
      camera: { range: { from: 0, to: 400 }, left: 100, width: 400 },
      top: 0,
      height: 400,
      found: null,
      isPinned: false,
      cursor: null,
      arrows: arrows(2),
      area: null,
    });
    expect(curves).toHaveLength(1);
    expect(curves[0]?.[0]).toBe(130);
    expect(curves[0]?.[4]).toBe(400);
  });
});

describe("the order of lanes", () => {
  it("is client, scheduler, workers, whatever the order of the document", () => {
    const trace = traceOf([], 4);
    const kinds = ["worker", "raylet", "scheduler", "client"];
    const lanes = trace.lanes.map((lane, at) => ({ ...lane, kind: kinds[at] ?? "", process: at }));
    const doc = { ...trace, lanes };
    const order = layoutLanes(doc, indexOf(doc)).rows.map((row) => kinds[row.lane]);
    expect(order).toEqual(["client", "scheduler", "raylet", "worker"]);
  });

  it("keeps lanes of one process together, whatever their numbers", () => {
    const keys = ["worker 1/thread 1", "worker 2/thread 1", "worker 1/disk"];
    const lanes = keys.map((key, process) => ({ key, kind: "worker", process }));
    const doc = { ...traceOf([], 3), lanes };
    const rows = layoutLanes(doc, indexOf(doc)).rows;
    expect(rows.map((row) => `${row.title}, ${row.part}`)).toEqual([
      "worker 1, thread 1",
      "worker 1, disk",
      "worker 2 / thread 1, ",
    ]);
  });
});
