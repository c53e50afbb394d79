import { describe, expect, it } from "vitest";

import { addTrack, type Batch, newBatch } from "../src/lanes/paint";
import { buildPyramid, levelFor, type Pyramid } from "../src/lanes/pyramid";
import type { Index, Track } from "../src/lanes/tracks";
import { indexOf, type SpanSpec, seeded, traceOf } from "./make";

interface FakePath {
  readonly rects: number[][];
  rect(x: number, y: number, width: number, height: number): void;
}

function fakePath(): FakePath {
  const rects: number[][] = [];
  return { rects, rect: (...numbers) => rects.push(numbers) };
}

function paint(spans: readonly SpanSpec[], to = 1_000, width = 1_000): Batch<FakePath> {
  const index = indexOf({ ...traceOf(spans), wall_ns: to });
  const batch = newBatch(fakePath);
  const strip = { track: index.tracks[0] as Track, y: 10, height: 20 };
  const camera = { range: { from: 0, to }, left: 0, width };
  addTrack(batch, strip, { index, camera, found: null });
  return batch;
}

const PICKLE = 1;
const WAIT = 7;

describe("the painter", () => {
  it("draws wide spans one by one with a pixel between them", () => {
    const { solid } = paint([
      { start: 0, length: 100 },
      { start: 100, length: 50 },
    ]);
    expect(solid[PICKLE]?.rects).toEqual([
      [0, 10, 99, 20],
      [100, 10, 49, 20],
    ]);
  });

  it("draws a wait thin", () => {
    const { solid } = paint([{ start: 10, length: 100, stage: 3 }]);
    expect(solid[WAIT]?.rects).toEqual([[10, 19, 99, 2]]);
  });

  it("merges what is smaller than a pixel into columns as high as the work in them", () => {
    const spans = Array.from({ length: 1_000 }, (_, at) => ({ start: at * 10, length: 3 }));
    const { solid, tint } = paint(spans, 10_000, 100);
    expect(solid[PICKLE]?.rects).toHaveLength(100);
    expect(solid[PICKLE]?.rects[50]).toEqual([50, 24, 1, 6]);
    expect(tint[PICKLE]?.rects[50]).toEqual([50, 10, 1, 14]);
  });

  it("never lets a stage that is there vanish", () => {
    const { solid } = paint([{ start: 500, length: 1 }], 1_000_000, 100);
    expect(solid[PICKLE]?.rects).toEqual([[0, 10, 1, 20]]);
  });

  it("draws at most one column for each pixel, however many spans there are", () => {
    const random = seeded(3);
    const spans = Array.from({ length: 20_000 }, () => ({
      start: Math.floor(random() * 1e6),
      length: 1,
    }));
    const { solid } = paint(spans, 1e6, 300);
    expect(solid[PICKLE]?.rects.length).toBeLessThanOrEqual(301);
  });

  it("clips to what is visible", () => {
    const index = indexOf({ ...traceOf([{ start: 0, length: 1_000 }]), wall_ns: 1_000 });
    const batch = newBatch(fakePath);
    const strip = { track: index.tracks[0] as Track, y: 0, height: 20 };
    const camera = { range: { from: 400, to: 500 }, left: 50, width: 100 };
    addTrack(batch, strip, { index, camera, found: null });
    expect(batch.solid[PICKLE]?.rects).toEqual([[50, 0, 99, 20]]);
  });

  it("makes faint what is not searched for", () => {
    const index = indexOf({ ...traceOf([{ start: 0, length: 500 }]), wall_ns: 1_000 });
    const batch = newBatch(fakePath);
    const strip = { track: index.tracks[0] as Track, y: 0, height: 20 };
    const camera = { range: { from: 0, to: 1_000 }, left: 0, width: 100 };
    addTrack(batch, strip, { index, camera, found: new Uint8Array(1) });
    expect(batch.solid[PICKLE]?.rects).toHaveLength(0);
    expect(batch.tint[PICKLE]?.rects).toHaveLength(1);
  });
});

describe("the pyramid", () => {
  const random = seeded(11);
  let time = 0;
  const spans = Array.from({ length: 30_000 }, () => {
    const length = Math.floor(random() * 900);
    time += length + Math.floor(random() * 300);
    return { start: time - length, length, stage: Math.floor(random() * 4) };
  });
  const index: Index = indexOf({ ...traceOf(spans), wall_ns: time });
  const pyramid: Pyramid = buildPyramid(index, index.tracks[0] as Track);

  it("sums to the time of the spans on every level", () => {
    const total = spans.reduce((sum, span) => sum + span.length, 0);
    expect(pyramid.length).toBeGreaterThan(3);
    for (const level of pyramid) {
      const sum = level.busy.reduce((all, one) => all + one, 0);
      expect(Math.abs(sum / total - 1)).toBeLessThan(1e-4);
    }
  });

  it("never has more work in a bucket than fits", () => {
    for (const level of pyramid) {
      for (let bucket = 0; bucket < level.count; bucket += 1) {
        const cells = level.busy.subarray(bucket * 8, bucket * 8 + 8);
        const busy = cells.reduce((all, one) => all + one, 0);
        expect(busy).toBeLessThanOrEqual(level.bucket_ns * 1.001);
      }
    }
  });

  it("gives buckets of about a pixel, and none when spans can be told apart", () => {
    const fine = pyramid[0]?.bucket_ns ?? 0;
    expect(levelFor(pyramid, fine / 10)).toBeNull();
    expect(levelFor(pyramid, fine)?.bucket_ns).toBe(fine);
    expect(levelFor(pyramid, fine * 4)?.bucket_ns).toBe(fine * 4);
    expect(levelFor(null, 5)).toBeNull();
  });

  it("costs as many rectangles as there are pixels", () => {
    const batch = newBatch(fakePath);
    const track = { ...(index.tracks[0] as Track), pyramid };
    const camera = { range: { from: index.first_ns, to: index.last_ns }, left: 0, width: 600 };
    addTrack(batch, { track, y: 0, height: 20 }, { index, camera, found: null });
    const drawn = batch.solid.reduce((sum, path) => sum + path.rects.length, 0);
    expect(drawn).toBeLessThan(600 * 4);
  });
});
