/** The view of the lanes, which are loaded where somebody looks at them. */

import type { DrawnTrace } from "../document/document";
import { entry, type Part, type Provider, type Stage } from "../frame/part";
import { element } from "../kit/dom";
import { KEY_HELP } from "../kit/keys";

export const lanesOf: Provider = (doc) =>
  doc.format === "serprof.trace" ? entry("lanes", "Lanes", (stage) => lanes(doc, stage)) : [];

function lanes(trace: DrawnTrace, stage: Stage): Part {
  const node = element("section", "jsp-lanes", element("p", "jsp-note", "Reading the spans …"));
  let inner: Part | null = null;
  let isGone = false;
  const draw = async (): Promise<void> => {
    const [columns, { drawnLanes }] = [await stage.columnsOf(trace), await import("./lanes")];
    if (!isGone) {
      inner = drawnLanes(trace, columns, stage);
      node.replaceChildren(inner.node);
      inner.paint?.();
    }
  };
  draw().catch(() => node.replaceChildren("The lanes cannot be drawn: load this page again."));
  return {
    node,
    paint: () => inner?.paint?.(),
    search: (words) => inner?.search?.(words),
    help: { title: "Keys, while the lanes have the focus:", keys: KEY_HELP },
    destroy() {
      isGone = true;
      inner?.destroy?.();
    },
  };
}
