/** The time axis keeps its part of a table: columns leave one after the other until it has it. */

import { NOT_APPLICABLE, NOT_SEEN } from "../document/format";

const LEAVING = ["faults", "memcpy", "rate", "bytes", "busy", "lane", "share"];
/** Of the whole output, and px at any width. */
const [LEAST_SHARE, LEAST_PX] = [0.45, 120];

/** A column of dashes and zeros is none. */
export function isEmpty(texts: readonly string[]): boolean {
  return texts.every((text) => [NOT_APPLICABLE, NOT_SEEN, "0"].includes(text));
}

/** What no row says that is shown and not folded away. */
const isSilent = (node: HTMLElement, name: string): boolean => {
  const cells = node.querySelectorAll(`tbody tr:not([hidden]) > td.jsp-column-${name}`);
  return isEmpty([...cells].map(({ textContent }) => textContent ?? ""));
};

/** Called again when the width has changed; the style sheet hides what has left. */
export function fitColumns(node: HTMLElement): void {
  const silent = LEAVING.slice(0, -2).filter((name) => isSilent(node, name));
  const axis = node.querySelector<HTMLElement>(".jsp-axis");
  const least = Math.max(LEAST_PX, LEAST_SHARE * (node.closest(".jsp-root") ?? node).clientWidth);
  for (let count = 0; axis !== null && count <= LEAVING.length; count += 1) {
    node.dataset.left = [...LEAVING.slice(0, count), ...silent].join(" ");
    if (axis.offsetWidth >= least || node.clientWidth === 0) {
      return;
    }
  }
}
