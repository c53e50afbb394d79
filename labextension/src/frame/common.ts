/** The views of every kind of document, and the order in which all stand in the switch. */

import { hasWaterfall } from "../document/document";
import { element } from "../kit/dom";
import { waterfall } from "../waterfall/waterfall";
import { detailsOf } from "./facts";
import { findingsView, withFinding } from "./findings";
import { isOfTime } from "./head";
import { entry, type Provider, type ViewSet } from "./part";
import { sweepTable, traceTable } from "./table";

const waterfallOf: Provider = (doc) =>
  doc.format === "serprof.trace" && hasWaterfall(doc)
    ? entry("waterfall", "Waterfall", (stage) =>
        withFinding(waterfall(doc, stage, !isOfTime(doc)), doc, stage),
      )
    : [];

const tableOf: Provider = (doc) =>
  entry("table", "Table", (stage) =>
    doc.format === "serprof.trace" ? traceTable(doc, stage) : sweepTable(doc, stage),
  );

const factsOf: Provider = (doc) =>
  detailsOf(doc, {}).length > 0
    ? entry("details", "Details", ({ host }) => ({
        node: element("section", "jsp-table-view", ...detailsOf(doc, host)),
      }))
    : [];

const findingsOf: Provider = ({ findings: all = [] }) =>
  all.length > 0
    ? entry("findings", "Findings", (stage) => findingsView(all, stage), String(all.length))
    : [];

/** Views of one kind stand before the waterfall, or behind it. */
export function viewSet(first: ViewSet, behind: ViewSet = []): ViewSet {
  return [...first, waterfallOf, ...behind, tableOf, factsOf, findingsOf];
}
