/** One click away: what single spans knew about buffers, copies and page faults. */

import type { DrawnTrace, Scalar } from "../document/document";
import { count } from "../document/format";
import { element } from "../kit/dom";
import { evidence, labelOf } from "./evidence";

const MOST_SPANS = 200;

export function details(trace: DrawnTrace): HTMLElement | null {
  const entries = Object.entries(trace.details ?? {});
  if (entries.length === 0) {
    return null;
  }
  const title = `Buffers, copies and page faults of ${count(entries.length)} spans`;
  const node = element("details", "jsp-more", element("summary", "", title));
  node.addEventListener("toggle", () => node.append(list(trace, entries)), { once: true });
  return node;
}

function list(trace: DrawnTrace, entries: readonly [string, object][]): HTMLElement {
  const rows = entries.slice(0, MOST_SPANS).map(([index, facts]) => {
    const texts = Object.entries(facts)
      .filter(([, value]) => isScalar(value))
      .map(([key, value]) => element("span", "", `${labelOf(key)} ${evidence(key, value)}`));
    const name = element("th", "jsp-stage", nameOf(trace, Number(index)));
    name.scope = "row";
    return element("tr", "", name, element("td", "jsp-facts", ...texts));
  });
  const hidden = entries.length - rows.length;
  const rest = hidden > 0 ? element("p", "jsp-note", `and ${count(hidden)} more`) : null;
  return element(
    "div",
    "jsp-finding-body",
    element("table", "jsp-details", element("tbody", "", ...rows)),
    rest,
  );
}

/** Stage and name of a span; columns of long traces are packed, then its index stands for it. */
function nameOf(trace: DrawnTrace, index: number): string {
  const { stage, name } = trace.spans;
  const stageIndex = Array.isArray(stage) ? stage[index] : null;
  const nameIndex = Array.isArray(name) ? name[index] : null;
  const words = [
    stageIndex == null ? null : trace.stages[stageIndex]?.title,
    nameIndex == null ? null : trace.strings[nameIndex],
  ].filter((word) => typeof word === "string" && word !== "");
  return words.length === 0 ? `span ${index}` : words.join(": ");
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}
