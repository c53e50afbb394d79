/** Small marks that several views share: swatch, chip, bar, hatch. */

import { element, place, titled } from "../core/dom";
import type { Family } from "../core/theme";

export function swatch(family: Family | "unaccounted"): HTMLElement {
  const node = element("span", `jsp-swatch jsp-${family}`);
  node.setAttribute("aria-hidden", "true");
  return node;
}

export function chip(text: string, className = "jsp-chip"): HTMLElement {
  return element("span", className, text);
}

/** A bar from `left` to `left + width` (shares of the plot), never below one pixel. */
export function bar(className: string, left: number, width: number, tooltip: string): HTMLElement {
  return titled(place(element("div", `jsp-bar ${className}`), left, width), tooltip);
}

/** One part of a stacked bar, with its label if it is wide enough to hold one. */
export function segment(
  className: string,
  share: number,
  label: string,
  tooltip: string,
): HTMLElement {
  const node = titled(element("div", `jsp-segment ${className}`), tooltip);
  node.style.flexGrow = String(share);
  if (share * 100 > label.length * 1.1) {
    node.append(element("span", "", label));
  }
  return node;
}
