/** The card of a span: built when it is first needed. */

import { element } from "../kit/dom";
import type { Fact } from "./facts";

export interface Tooltip {
  show(title: string, facts: readonly Fact[], note: string | null, x: number, y: number): void;
  hide(): void;
}

const GAP = 14;

/** `frame` is the positioned element that the coordinates refer to. */
export function tooltipIn(frame: HTMLElement): Tooltip {
  let node: HTMLElement | null = null;
  return {
    show(title, facts, note, x, y) {
      node ??= frame.appendChild(element("div", "jsp-tip"));
      node.setAttribute("aria-hidden", "true");
      const list = facts.map(([label, text]) =>
        element("div", "", element("dt", "", label), element("dd", "", text)),
      );
      node.replaceChildren(
        element("strong", "", title),
        element("dl", "jsp-tip-facts", ...list),
        ...(note === null ? [] : [element("p", "jsp-note", note)]),
      );
      node.hidden = false;
      const [wide, high] = [frame.clientWidth, frame.clientHeight];
      const left = x + GAP + node.offsetWidth > wide ? x - GAP - node.offsetWidth : x + GAP;
      node.style.left = `${Math.max(0, left)}px`;
      node.style.top = `${Math.max(0, Math.min(y + GAP, high - node.offsetHeight))}px`;
    },
    hide() {
      if (node !== null) {
        node.hidden = true;
      }
    },
  };
}
