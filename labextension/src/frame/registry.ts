/**
 * Which views a document has, in the order of the switch, and which of them each bundle brings.
 * A new view gets a provider here, and its name in the sets that have room for it.
 */

import { anatomyView } from "../blame/view";
import { comparisonView } from "../compare/view";
import { hasWaterfall, type SerprofDocument } from "../document/document";
import { element } from "../kit/dom";
import { lanes } from "../lanes/lanes";
import { roundTrip } from "../sweep/roundtrip";
import { hasSizes } from "../sweep/series";
import { sizeSweep } from "../sweep/sizes";
import { waterfall } from "../waterfall/waterfall";
import { detailsOf } from "./facts";
import { findingsView, firstFinding } from "./findings";
import type { Entry, Part, Provider, Stage, ViewSet } from "./part";
import { sweepTable, traceTable } from "./table";

const waterfallOf: Provider = (doc) =>
  doc.format === "serprof.trace" && hasWaterfall(doc)
    ? entry("waterfall", "Waterfall", (stage) => withFinding(waterfall(doc, stage), doc, stage))
    : [];

const lanesOf: Provider = (doc) =>
  doc.format === "serprof.trace" ? entry("lanes", "Lanes", (stage) => lanes(doc, stage)) : [];

const anatomyOf: Provider = (doc) =>
  doc.format === "serprof.trace" && doc.anatomies?.length
    ? entry("anatomy", "Blame", (stage) => withFinding(anatomyView(doc, stage), doc, stage))
    : [];

const sizesOf: Provider = (doc) => {
  const title = isOfChunks(doc) ? "Chunk sizes" : "Sweep";
  return doc.format === "serprof.sweep" && hasSizes(doc)
    ? entry("sweep", title, (stage) => withFinding(sizeSweep(doc, stage), doc, stage))
    : [];
};

const roundTripOf: Provider = (doc) => {
  const title = isOfChunks(doc) ? "Runs" : "Round trip";
  return doc.format === "serprof.sweep"
    ? entry("roundtrip", title, (stage) => withFinding(roundTrip(doc, stage), doc, stage))
    : [];
};

const comparisonOf: Provider = (doc) => {
  const { comparison } = doc;
  return comparison
    ? entry("compare", "Compare", (stage) => comparisonView(doc, comparison, stage))
    : [];
};

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

const LAST: ViewSet = [tableOf, factsOf, findingsOf];

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

function entry(key: string, title: string, build: Entry["build"], badge?: string): [Entry] {
  return [badge === undefined ? { key, title, build } : { key, title, build, badge }];
}

function isOfChunks(doc: SerprofDocument): boolean {
  return doc.format === "serprof.sweep" && doc.kind === "chunks";
}

/** The picture, then one finding; all of them are one click away. */
function withFinding(part: Part, doc: SerprofDocument, stage: Stage): Part {
  return { ...part, node: element("div", "", part.node, firstFinding(doc, stage)) };
}
