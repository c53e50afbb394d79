/**
 * The colours of the families, for both themes: at least 3:1 on white and on #111, and far enough
 * apart for every kind of colour vision (test/palette.test.ts proves both).
 */

import type { Family } from "./theme";

export const PALETTE: Readonly<Record<Family, string>> = {
  build: "#2d6c7e",
  pickle: "#8c27d6",
  move: "#c16dfd",
  schedule: "#b43802",
  store: "#e76c1d",
  execute: "#699a98",
  other: "#7a7a7a",
};

/** What is written on a bar of the family: at least 4.5:1. */
export const LABEL_INK: Readonly<Record<Family, string>> = {
  build: "#fff",
  pickle: "#fff",
  move: "#000",
  schedule: "#fff",
  store: "#000",
  execute: "#000",
  other: "#000",
};

type Rgb = readonly [number, number, number];

/** "#2d6c7e" as linear light, 0..1 each. */
export function linear(hex: string): Rgb {
  const digits =
    hex.length === 4 ? [...hex.slice(1)].map((digit) => digit + digit).join("") : hex.slice(1);
  const part = (at: number): number => {
    const value = Number.parseInt(digits.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(0), part(2), part(4)];
}

/** WCAG 2 contrast of two colours, 1..21. */
export function contrast(one: string, other: string): number {
  const luminance = (hex: string): number => {
    const [red, green, blue] = linear(hex);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [low, high] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [
    number,
    number,
  ];
  return (high + 0.05) / (low + 0.05);
}
