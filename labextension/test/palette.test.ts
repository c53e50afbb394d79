import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FAMILIES, type Family, WAYS } from "../src/kit/theme";
import { contrast, linear, THEME } from "./theme";

type Triple = readonly [number, number, number];

/** How colours look with a missing kind of cone: Machado, Oliveira, Fernandes 2009, severity 1. */
const VISION: Readonly<Record<string, readonly Triple[]>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function seen(hex: string, vision: string): Triple {
  const colour = linear(hex);
  const rows = VISION[vision] as readonly Triple[];
  const dot = (row: Triple): number =>
    Math.min(1, Math.max(0, row[0] * colour[0] + row[1] * colour[1] + row[2] * colour[2]));
  return [dot(rows[0] as Triple), dot(rows[1] as Triple), dot(rows[2] as Triple)];
}

/** CIE L*a*b* under D65. */
function lab([red, green, blue]: Triple): Triple {
  const f = (value: number): number =>
    value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116;
  const x = f((0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047);
  const y = f(0.2126729 * red + 0.7151522 * green + 0.072175 * blue);
  const z = f((0.0193339 * red + 0.119192 * green + 0.9503041 * blue) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function distance(one: string, other: string, vision: string): number {
  const [a, b] = [lab(seen(one, vision)), lab(seen(other, vision))];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

const PALETTE = Object.fromEntries(
  FAMILIES.map((family) => [family, THEME.families[family].color]),
) as Record<Family, string>;
const HUES = FAMILIES.filter((family) => family !== "other");

/** Those without the compressors stand beside each other most. */
const COMMON = 8;

/** Björn Ottosson's OKLab, times 100. */
function perceived([red, green, blue]: Triple): Triple {
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    21.04542553 * l + 79.3617785 * m - 0.40720468 * s,
    197.79984951 * l - 242.8592205 * m + 45.05937099 * s,
    2.59040371 * l + 78.27717662 * m - 80.8675766 * s,
  ];
}

function nearest(colours: readonly string[], vision: string): number {
  const all = colours.map((colour) => perceived(seen(colour, vision)));
  const pairs = all.flatMap((a, at) =>
    all.slice(at + 1).map((b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])),
  );
  return Math.min(...pairs);
}

describe("the palette", () => {
  it("has a colour of its own for each transport, 3:1 on both backgrounds", () => {
    expect(Object.keys(THEME.ways)).toEqual(WAYS);
    for (const colour of Object.values(THEME.ways)) {
      expect(contrast(colour, "#ffffff")).toBeGreaterThanOrEqual(3);
      expect(contrast(colour, "#111111")).toBeGreaterThanOrEqual(3);
    }
  });

  // What is told apart side by side differs by 2; a thin line needs several times that.
  it.each(Object.keys(VISION))("keeps the lines of transports apart: %s", (vision) => {
    const colours = Object.values(THEME.ways);
    const isNormal = vision === "normal";
    expect(nearest(colours.slice(0, COMMON), vision)).toBeGreaterThan(isNormal ? 18.5 : 7.9);
    expect(nearest(colours, vision)).toBeGreaterThan(isNormal ? 16 : 6.5);
  });

  it("has a name of its own for each colour of a transport: at most three are violet or pink", () => {
    const hues = Object.values(THEME.ways).map((colour) => {
      const [, a, b] = perceived(linear(colour));
      return Math.hypot(a, b) < 6 ? 0 : ((Math.atan2(b, a) * 180) / Math.PI + 360) % 360;
    });
    expect(hues.filter((hue) => hue > 285 && hue < 350).length).toBeLessThanOrEqual(3);
  });

  it.each(FAMILIES)("has 3:1 on white and on #111: %s", (family) => {
    expect(contrast(PALETTE[family], "#ffffff")).toBeGreaterThanOrEqual(3);
    expect(contrast(PALETTE[family], "#111111")).toBeGreaterThanOrEqual(3);
  });

  it.each(FAMILIES)("has labels of 4.5:1 on its bars: %s", (family) => {
    expect(contrast(PALETTE[family], THEME.families[family].label)).toBeGreaterThanOrEqual(4.5);
  });

  it.each(Object.keys(VISION))("keeps six hues at least 14 apart: %s", (vision) => {
    for (const [at, one] of HUES.entries()) {
      for (const other of HUES.slice(at + 1)) {
        expect(distance(PALETTE[one], PALETTE[other], vision)).toBeGreaterThanOrEqual(14);
      }
    }
  });

  it.each(["light", "dark"] as const)("has text of 4.5:1 on its background: %s", (mode) => {
    const { background, ink, muted, warn } = THEME[mode];
    for (const text of [ink, muted, warn]) {
      expect(contrast(text as string, background as string)).toBeGreaterThanOrEqual(4.5);
    }
  });

  it("gives its colours to the style sheets, which have none of their own for these", () => {
    const base = readFileSync("style/base.css", "utf8");
    expect(Object.keys(THEME.families)).toEqual([...FAMILIES]);
    expect(base).not.toMatch(/--jsp-(warn|bg|ink|ink-2): (#|rgb)/);
    expect(base).not.toMatch(/--jsp-on:/);
  });

  it("knows what contrast is", () => {
    expect(contrast("#000", "#fff")).toBeCloseTo(21, 5);
    expect(contrast("#777777", "#fff")).toBeCloseTo(4.48, 2);
  });
});
