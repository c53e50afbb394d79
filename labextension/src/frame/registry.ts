/**
 * Which views a document has, in the order of the switch, and which of them each bundle brings.
 * A new view gets a provider here, and its name in the sets that have room for it.
 */

import { anatomyView } from "../blame/view";
import { comparisonView } from "../compare/view";
import { type DrawnTrace, hasWaterfall, type SerprofDocument } from "../document/document";
import { element } from "../kit/dom";
import { lanes } from "../lanes/lanes";
import { roundTrip } from "../sweep/roundtrip";
import { hasSizes } from "../sweep/series";
import { sizeSweep } from "../sweep/sizes";
import { waterfall } from "../waterfall/waterfall";
import { tablesName, tablesView } from "./facts";
import { findingsView, firstFinding } from "./findings";
import type { Entry, Part, Provider, Stage, ViewSet } from "./part";
import { sweepTable, traceTable } from "./table";

const waterfallOf: Provider = (doc) =>
  ofTrace(doc, hasWaterfall, (trace) => ({
    key: "waterfall",
    title: "Waterfall",
    build: (_doc, stage) => withFinding(waterfall(trace, stage), doc, stage),
  }));

const lanesOf: Provider = (doc) =>
  ofTrace(doc, always, (trace) => ({
    key: "lanes",
    title: "Lanes",
    build: (_doc, stage) => lanes(trace, stage),
  }));

const anatomyOf: Provider = (doc) =>
  ofTrace(doc, hasAnatomies, (trace) => ({
    key: "anatomy",
    title: "Blame",
    build: (_doc, stage) => withFinding(anatomyView(trace, stage), doc, stage),
  }));

const sizesOf: Provider = (doc) =>
  doc.format === "serprof.sweep" && hasSizes(doc)
    ? [
        {
          key: "sweep",
          title: doc.kind === "chunks" ? "Chunk sizes" : "Sweep",
          build: (_doc, stage) => withFinding(sizeSweep(doc, stage), doc, stage),
        },
      ]
    : [];

const roundTripOf: Provider = (doc) =>
  doc.format === "serprof.sweep"
    ? [
        {
          key: "roundtrip",
          title: doc.kind === "chunks" ? "Runs" : "Round trip",
          build: (_doc, stage) => withFinding(roundTrip(doc, stage), doc, stage),
        },
      ]
    : [];

const comparisonOf: Provider = (doc) => {
  const { comparison } = doc;
  const build = (_doc: SerprofDocument, stage: Stage): Part =>
    comparison ? comparisonView(doc, comparison, stage) : { node: element("p", "") };
  return comparison ? [{ key: "compare", title: "Compare", build }] : [];
};

const tableOf: Provider = (doc) => [
  {
    key: "table",
    title: "Table",
    build: (_doc, stage) =>
      doc.format === "serprof.trace" ? traceTable(doc, stage) : sweepTable(doc, stage),
  },
];

const ownTablesOf: Provider = (doc) =>
  ofTrace(doc, hasTables, (trace) => ({
    key: "details",
    title: tablesName(trace.tables ?? []),
    build: (_doc, stage) => tablesView(trace, stage),
  }));

const findingsOf: Provider = (doc) => {
  const found = doc.findings ?? [];
  const build = (_doc: SerprofDocument, stage: Stage): Part => findingsView(found, stage);
  return [{ key: "findings", title: "Findings", badge: String(found.length), build }];
};

const LAST: ViewSet = [tableOf, ownTablesOf, findingsOf];

/** Of one run; a sweep is a table there. */
export const TRACE: ViewSet = [comparisonOf, waterfallOf, lanesOf, ...LAST];
/** Of points over size; a trace has its waterfall there, and no lanes. */
export const SWEEP: ViewSet = [comparisonOf, sizesOf, roundTripOf, waterfallOf, ...LAST];
/** Of the parts of a pickle; a trace has its waterfall there, and no lanes. */
export const ANATOMY: ViewSet = [comparisonOf, anatomyOf, waterfallOf, ...LAST];
/** Where the size of a script does not count: in JupyterLab it is loaded once. */
export const EVERY: ViewSet = [
  comparisonOf,
  anatomyOf,
  sizesOf,
  roundTripOf,
  waterfallOf,
  lanesOf,
  ...LAST,
];

function ofTrace(
  doc: SerprofDocument,
  has: (trace: DrawnTrace) => boolean,
  entry: (trace: DrawnTrace) => Entry,
): Entry[] {
  return doc.format === "serprof.trace" && has(doc) ? [entry(doc)] : [];
}

function always(): boolean {
  return true;
}

function hasTables(trace: DrawnTrace): boolean {
  return (trace.tables ?? []).length > 0;
}

function hasAnatomies(trace: DrawnTrace): boolean {
  return (trace.anatomies ?? []).length > 0;
}

/** The picture, then one finding; all of them are one click away. */
function withFinding(part: Part, doc: SerprofDocument, stage: Stage): Part {
  const finding = firstFinding(doc.findings ?? [], stage);
  return { ...part, node: element("div", "", part.node, finding) };
}
