/** Sums of a marked area of the lanes. */

import { bytes, count, duration } from "../document/format";
import { element } from "../kit/dom";
import { swatch } from "../kit/marks";
import type { Range } from "../kit/scale";
import { familyOf } from "../kit/theme";
import { areaSums } from "./find";
import type { LaneView } from "./lanes";

const MOST_STAGES = 8;

export function areaPanel(view: LaneView, area: Range): HTMLElement {
  const { trace, index } = view.state;
  const sums = areaSums(index, index.tracks, area);
  const rows = sums.slice(0, MOST_STAGES).map((sum) => {
    const stage = trace.stages[sum.stage];
    return element(
      "tr",
      "",
      element(
        "th",
        "jsp-stage",
        swatch(familyOf(stage?.family)),
        String(stage?.title ?? "Unknown stage"),
      ),
      element("td", "jsp-number", `×${count(sum.count)}`),
      element("td", "jsp-number", duration(sum.busy_ns)),
      element("td", "jsp-number", sum.bytes > 0 ? bytes(sum.bytes) : "–"),
    );
  });
  const title = `${duration(area.to - area.from)} from ${duration(area.from)}: work in this area, nested spans in full`;
  const close = element("button", "jsp-button", "Close");
  close.type = "button";
  close.addEventListener("click", () => {
    view.mark(null);
    view.canvas.focus();
  });
  const rest = sums.length - rows.length;
  return element(
    "div",
    "",
    element("p", "jsp-area-title", element("span", "", title), close),
    rows.length === 0
      ? element("p", "jsp-note", "No work in this area.")
      : element("table", "jsp-table jsp-sums", element("tbody", "", ...rows)),
    rest > 0 ? element("p", "jsp-note", `and ${count(rest)} smaller stages`) : null,
  );
}
