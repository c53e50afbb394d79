/** Legends: what colours, lines and textures mean. */

import { type DrawnTrace, hasWaterfall } from "../document/document";
import { element, having } from "../kit/dom";
import { FAMILIES, type Family, familyOf } from "../kit/theme";
import { type Index, WAIT } from "../lanes/tracks";

const FAMILY_TITLES: Readonly<Record<Family, string>> = {
  build: "build the graph",
  pickle: "pickle",
  move: "move",
  schedule: "schedule",
  store: "store",
  execute: "execute",
  other: "other",
};

export function legendEntry(mark: string, text: string): HTMLElement {
  const sample = having(element("span", `jsp-sample ${mark}`), { "aria-hidden": "true" });
  return element("span", "", sample, text);
}

/** Only what occurs in the document. */
export function laneLegend(trace: DrawnTrace, index: Index): HTMLElement {
  const seen = new Set(trace.stages.map((stage) => familyOf(stage.family)));
  const families = FAMILIES.filter((family) => seen.has(family)).map((family) =>
    legendEntry(`jsp-square jsp-${family}`, FAMILY_TITLES[family]),
  );
  const hasWaits = index.kind.includes(WAIT);
  const hasErrors = trace.lanes.some((lane) => (lane.clock_error_ns ?? 0) > 0);
  return element(
    "p",
    "jsp-legend",
    ...families,
    hasWaits ? legendEntry("jsp-waits jsp-thin", "wait") : null,
    hasWaterfall(trace) ? legendEntry("jsp-path", "critical path") : null,
    hasErrors ? legendEntry("jsp-whisker", "clock uncertainty") : null,
    element("span", "jsp-legend-end", "w a s d zoom and pan, f fit, ? keys"),
  );
}
