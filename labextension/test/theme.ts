import { readFileSync } from "node:fs";
import type { Family } from "../src/kit/theme";

interface Theme {
  readonly families: Readonly<Record<Family, { readonly color: string; readonly label: string }>>;
  /** The colour of each transport, by name. */
  readonly ways: Readonly<Record<string, string>>;
  readonly light: Readonly<Record<string, string>>;
  readonly dark: Readonly<Record<string, string>>;
}

/** The colours that the pictures of the kernel and the front end share. */
export const THEME: Theme = JSON.parse(
  readFileSync("../jupyter_serprof/views/kit/theme.json", "utf8"),
);

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
