/** Small marks that several views share: swatch, chip, bar, hatch. */

import { element, having, place, titled } from "./dom";
import type { Family } from "./theme";

export function swatch(family: Family | "unaccounted" | "waits"): HTMLElement {
  return having(element("span", `jsp-swatch jsp-${family}`), { "aria-hidden": "true" });
}

export function chip(text: string, className = "jsp-chip"): HTMLElement {
  return element("span", className, text);
}

/** A bar from `left` to `left + width` (shares of the plot), never below one pixel. */
export function bar(className: string, left: number, width: number, tooltip: string): HTMLElement {
  return titled(place(element("div", `jsp-bar ${className}`), left, width), tooltip);
}

/** One part of a stacked bar; CSS shows title and number as far as they fit, never clipped. */
export function segment(
  className: string,
  share: number,
  title: string,
  amount: string,
  hasLabel = true,
): HTMLElement {
  const node = titled(element("div", `jsp-segment ${className}`), `${title}: ${amount}`);
  node.style.flexGrow = String(share);
  if (hasLabel) {
    node.append(...labelParts(title, amount));
  }
  return node;
}

export function labelParts(title: string, amount: string): HTMLElement[] {
  return [element("span", "", title), element("span", "", amount)];
}
