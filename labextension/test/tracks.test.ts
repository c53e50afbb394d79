import { describe, expect, it } from "vitest";
import { ascending, firstAbove } from "../src/kit/sort";
import { areaSums, hit, inTime, matches } from "../src/lanes/find";
import { layoutLanes, visibleRows } from "../src/lanes/layout";
import { childrenOf } from "../src/waterfall/children";
import { criticalPath } from "../src/waterfall/critical";
import { indexOf, plainColumns, seeded, traceOf } from "./make";

describe("sorting by time", () => {
  it("gives the order of a comparator, over negative and large values", () => {
    const random = seeded(7);
    const values = Float64Array.from({ length: 5_000 }, () =>
      Math.floor((random() - 0.3) * 2 ** 45),
    );
    const sorted = [...ascending(values)].map((at) => values[at]);
    expect(sorted).toEqual([...values].sort((a, b) => a - b));
  });

  it("keeps the order of equal values", () => {
    expect([...ascending(Float64Array.from([3, 1, 3, 1]))]).toEqual([1, 3, 0, 2]);
  });

  it("finds the first value above a bound", () => {
    const values = Float64Array.from([1, 2, 2, 5]);
    expect(firstAbove(values, 2, 0, 4)).toBe(3);
    expect(firstAbove(values, 0, 0, 4)).toBe(0);
    expect(firstAbove(values, 9, 0, 4)).toBe(4);
  });
});

describe("tracks", () => {
  it("nest children below their parent, whichever was written first", () => {
    const index = indexOf(
      traceOf([
        { start: 0, length: 4, parent: 1 },
        { start: 0, length: 10 },
        { start: 5, length: 2, parent: 1 },
      ]),
    );
    expect(index.tracks.map(({ depth, from, to }) => [depth, to - from])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect([...index.span]).toEqual([1, 0, 2]);
  });

  it("put tasks that overlap on one lane on different levels", () => {
    const index = indexOf(
      traceOf([
        { start: 0, length: 10 },
        { start: 5, length: 10 },
        { start: 11, length: 2 },
      ]),
    );
    expect(index.tracks.map((track) => track.to - track.from)).toEqual([2, 1]);
  });

  it("hold spans before the beginning and after the end of the run", () => {
    const index = indexOf(
      traceOf([
        { start: -50, length: 10 },
        { start: 80_000_000, length: 5 },
      ]),
    );
    expect([index.first_ns, index.last_ns]).toEqual([-50, 80_000_005]);
  });

  it("leave out spans without a lane and keep damaged times finite", () => {
    const trace = traceOf([
      { start: 0, length: -5 },
      { start: Number.NaN, length: 2 },
      { start: 1, length: 2, lane: 9 },
    ]);
    const index = indexOf(trace);
    expect(index.span).toHaveLength(2);
    expect([...index.end].every(Number.isFinite)).toBe(true);
  });

  it("are empty without spans, and time still has a length", () => {
    const index = indexOf({ ...traceOf([]), wall_ns: 0 });
    expect(index.tracks).toHaveLength(0);
    expect(index.last_ns).toBeGreaterThan(index.first_ns);
  });
});

describe("lanes", () => {
  it("stand one below the other, and only visible ones are painted", () => {
    const trace = traceOf(
      Array.from({ length: 100 }, (_, lane) => ({ start: 0, length: 5, lane })),
      100,
    );
    const layout = layoutLanes(trace, indexOf(trace));
    expect(layout.rows).toHaveLength(100);
    expect(layout.height).toBe(layout.rows.reduce((sum, row) => sum + row.height, 0));
    expect(visibleRows(layout, 0, 200).length).toBeLessThan(10);
  });

  it("of one process share its name", () => {
    const trace = traceOf([], 2);
    trace.lanes[1] = { key: "worker 0/thread 1" };
    const rows = layoutLanes(trace, indexOf(trace)).rows;
    expect(rows.map((row) => [row.title, row.part])).toEqual([
      ["worker 0", "thread 0"],
      ["worker 0", "thread 1"],
    ]);
  });
});

describe("questions about spans", () => {
  const trace = traceOf([
    { start: 0, length: 10, name: 0, size: 100 },
    { start: 20, length: 10, name: 2, lane: 1, stage: 2, size: 7 },
    { start: 40, length: 10, name: 2, lane: 1, stage: 2 },
    { start: 60, length: 10, stage: 3 },
  ]);
  const index = indexOf(trace);

  it("search in names, stages and lanes, whatever the case", () => {
    const count = (words: string) =>
      matches(trace, index, words).reduce((sum, one) => sum + one, 0);
    expect(count("WRITE")).toBe(2);
    expect(count("store")).toBe(2);
    expect(count("worker 1")).toBe(2);
    expect(count("nothing like it")).toBe(0);
  });

  it("walk in the order of time", () => {
    const starts = [...inTime(index, null)].map((at) => index.start[at]);
    expect(starts).toEqual([0, 20, 40, 60]);
  });

  it("hit the span at a time, or the nearest within the slack", () => {
    const track = index.tracks[0] as (typeof index.tracks)[number];
    expect(hit(index, track, 5, 0)).toBe(0);
    expect(hit(index, track, 12, 3)).toBe(0);
    expect(hit(index, track, 30, 3)).toBeNull();
  });

  it("sum an area by stage, clipped to it, waits left out", () => {
    const sums = areaSums(index, index.tracks, { from: 5, to: 45 });
    expect(sums).toEqual([
      { stage: 2, count: 2, busy_ns: 15, bytes: 7 },
      { stage: 0, count: 1, busy_ns: 5, bytes: 100 },
    ]);
  });
});

describe("the critical path", () => {
  it("lies on the innermost span of the stage that owns the time", () => {
    const trace = traceOf([
      { start: 0, length: 1_000_000, stage: 0 },
      { start: 200_000, length: 180_000, stage: 0, parent: 0 },
    ]);
    const steps = criticalPath(trace, indexOf(trace));
    expect(steps[0]).toEqual({ from_ns: 200_000, to_ns: 380_000, track: 1 });
  });
});

describe("the critical path of merged pieces", () => {
  it("lies on the lane of the densest row, though no span stands in the middle", () => {
    const trace = traceOf([
      { start: 0, length: 10, stage: 0, lane: 0 },
      { start: 990, length: 10, stage: 0, lane: 0 },
      { start: 10, length: 5, stage: 1, lane: 1 },
    ]);
    const row = { start_ns: 0, busy_ns: 0, size_bytes: null, count: 2, pieces: [[0, 1_000]] };
    const rows = [
      { ...row, stage: 1, lane: 1, self_ns: 100 },
      { ...row, stage: 0, lane: 0, self_ns: 800 },
    ] as never;
    const merged = { ...trace, wall_ns: 1_000, waterfall: { rows, unaccounted_ns: 100 } };
    const index = indexOf(merged);
    const [step, ...others] = criticalPath(merged, index);
    expect(others).toEqual([]);
    expect(step).toMatchObject({ from_ns: 0, to_ns: 1_000 });
    expect(index.tracks[step?.track ?? -1]?.lane).toBe(0);
  });
});

describe("children of a stage", () => {
  it("are its spans by name, without what nested spans take", () => {
    const trace = traceOf([
      { start: 0, length: 10, name: 0 },
      { start: 2, length: 4, name: 1, parent: 0, size: 8 },
      { start: 20, length: 1, name: 1 },
    ]);
    const list = childrenOf(trace, plainColumns(trace)).get(0);
    expect(list?.map(({ name, count, busy_ns }) => [name, count, busy_ns])).toEqual([
      ["dumps", 1, 6],
      ["loads", 2, 5],
    ]);
  });

  it("keep few pieces however many spans there are", () => {
    const spans = Array.from({ length: 900 }, (_, at) => ({
      start: at * 10,
      length: 5,
      name: at % 2,
    }));
    const trace = traceOf(spans);
    const child = childrenOf(trace, plainColumns(trace)).get(0)?.[0];
    expect(child?.pieces.length).toBeLessThanOrEqual(60);
    expect(child?.density).toBeLessThan(0.6);
  });
});
