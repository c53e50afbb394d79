import { describe, expect, it } from "vitest";
import * as format from "../src/document/format";
import { ticks } from "../src/kit/scale";

const plain = (text: string): string => text.replaceAll("\u00a0", " ");

describe("durations and sizes", () => {
  it.each([
    [0, "0 ns"],
    [250, "250 ns"],
    [3_200, "3.20 µs"],
    [52_100_000, "52.1 ms"],
    [9_996_000, "10.0 ms"],
    [999_600_000, "1.00 s"],
    [1_840_000_000, "1.84 s"],
    [1_234_000_000_000, "1,234 s"],
  ])("has at most three significant digits: %d ns", (ns, text) => {
    expect(plain(format.duration(ns))).toBe(text);
  });

  it.each([
    [0, "0 B"],
    [124, "124 B"],
    [91_400, "91.4 kB"],
    [800_000_000, "800 MB"],
    [999_999_999, "1.00 GB"],
  ])("uses decimal units: %d bytes", (size, text) => {
    expect(plain(format.bytes(size))).toBe(text);
  });

  it("says n/a for what was not seen, never 0", () => {
    expect(format.duration(null)).toBe("n/a");
    expect(format.bytes(undefined)).toBe("n/a");
    expect(format.percent(null)).toBe("n/a");
  });
});

describe("rates", () => {
  it("are bytes over busy time, from 64 kB on", () => {
    expect(format.rateOf(800_000_000, 64_000_000)).toBe(12.5e9);
    expect(format.rateOf(63_999, 1_000)).toBeNull();
    expect(format.rateOf(null, 1_000)).toBeNull();
    expect(format.rateOf(100_000, 0)).toBeNull();
  });

  it("print with the unit per second", () => {
    expect(plain(format.bytesPerSecond(12.9e9))).toBe("12.9 GB/s");
  });
});

describe("signs and ratios", () => {
  it("have a real minus, but zero has none", () => {
    expect(format.fixed(-1234.5, 1)).toBe("\u22121,234.5");
    expect(format.fixed(-0.01, 1)).toBe("0.0");
  });

  it("go to the even digit from an exact half, as in Python", () => {
    expect([100.25, 100.75, -2.5, 3.5].map((value) => format.fixed(value, 1))).toEqual([
      "100.2",
      "100.8",
      "\u22122.5",
      "3.5",
    ]);
    expect([12_250, 12_350, 12_750].map(format.duration).map(plain)).toEqual([
      "12.2 µs",
      "12.3 µs",
      "12.8 µs",
    ]);
    expect([2.5, 3.5, -0.5].map((value) => format.fixed(value, 0))).toEqual(["2", "4", "0"]);
  });

  it("have one decimal", () => {
    expect(format.ratio(3.24)).toBe("3.2×");
    expect(format.ratio(99.96)).toBe("100×");
    expect(plain(format.percent(0.185))).toBe("18.5 %");
    expect(plain(format.ofMemcpy(0.97))).toBe("97 %");
    expect(plain(format.ofMemcpy(0.0023))).toBe("0.2 %");
  });
});

describe("a column that adds up", () => {
  it("has one unit and fixed decimals, chosen from the wall time", () => {
    expect(format.columnScale(1_840_000_000)).toEqual({ unit: "s", unitNs: 1e9, decimals: 3 });
    expect(format.columnScale(65_000_000)).toEqual({ unit: "ms", unitNs: 1e6, decimals: 2 });
    expect(format.columnScale(900)).toEqual({ unit: "ns", unitNs: 1, decimals: 0 });
  });

  it("prints numbers whose sum is the printed total", () => {
    expect(format.column([333, 333, 334], 1000, { unit: "", decimals: 1, unitNs: 10 })).toEqual([
      "33.3",
      "33.3",
      "33.4",
    ]);
    expect(format.column([1, 1, 1], 3, { unit: "", decimals: 1, unitNs: 3 / 100 })).toEqual([
      "33.4",
      "33.3",
      "33.3",
    ]);
  });

  it("rounds a half as the total is rounded", () => {
    expect(format.column([60_425], 60_425, { unit: "", decimals: 2, unitNs: 1_000 })).toEqual([
      format.fixed(60.425, 2),
    ]);
  });

  it("moves no number by more than the last digit", () => {
    const values = Array.from({ length: 60 }, (_, index) => (index * 7919) % 997);
    const total = values.reduce((sum, value) => sum + value, 0);
    const printed = format.column(values, total, { unit: "", decimals: 1, unitNs: 13 }).map(Number);
    expect(printed.reduce((sum, value) => sum + value, 0)).toBeCloseTo(total / 13, 1);
    for (const [index, value] of values.entries()) {
      expect(Math.abs((printed[index] as number) - value / 13)).toBeLessThan(0.1);
    }
  });
});

describe("a measured zero", () => {
  it("is told from a small number", () => {
    expect(format.column([0, 1, 9_999], 10_000, { unit: "", decimals: 1, unitNs: 100 })).toEqual([
      "0",
      "0.0",
      "100.0",
    ]);
  });
});

describe("other text", () => {
  it("names the moment in UTC, and keeps what is no date", () => {
    expect(format.moment("2026-11-21T08:00:00.000Z")).toBe("21 Nov 2026 08:00 UTC");
    expect(format.moment("yesterday")).toBe("yesterday");
  });

  it("has round ticks", () => {
    expect(ticks(1840)).toEqual([0, 500, 1000, 1500]);
    expect(ticks(71.3)).toEqual([0, 20, 40, 60]);
    expect(ticks(0)).toEqual([0]);
  });
});
