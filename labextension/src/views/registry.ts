/** Which views a document has, in the order of the switch. A new view gets one line here. */

import {
  type DrawnTrace,
  hasWaterfall,
  type SerprofDocument,
  type SweepDocument,
} from "../core/document";
import { element } from "../core/dom";
import { hasSizes } from "../core/runs";
import { findingsView, firstFinding } from "./findings";
import { lanes } from "./lanes";
import type { Entry, Part, Stage } from "./part";
import { roundTrip } from "./roundtrip";
import { sizeSweep } from "./sizes";
import { sweepTable, traceTable } from "./table";
import { tablesName, tablesView } from "./tables";
import { waterfall } from "./waterfall";

export function entriesOf(doc: SerprofDocument): Entry[] {
  const found = doc.findings ?? [];
  const findings: Entry = {
    key: "findings",
    title: "Findings",
    badge: String(found.length),
    build: (_doc, stage) => findingsView(found, stage),
  };
  return doc.format === "serprof.trace"
    ? [...traceEntries(doc), findings]
    : [...sweepEntries(doc), findings];
}

function traceEntries(doc: DrawnTrace): Entry[] {
  const rows: Entry = {
    key: "waterfall",
    title: "Waterfall",
    build: (_doc, stage) => withFinding(waterfall(doc, stage), doc, stage),
  };
  const tables = doc.tables ?? [];
  const own: Entry = {
    key: "details",
    title: tablesName(tables),
    build: (_doc, stage) => tablesView(doc, stage),
  };
  return [
    ...(hasWaterfall(doc) ? [rows] : []),
    { key: "lanes", title: "Lanes", build: (_doc, stage) => lanes(doc, stage) },
    { key: "table", title: "Table", build: (_doc, stage) => traceTable(doc, stage) },
    ...(tables.length > 0 ? [own] : []),
  ];
}

function sweepEntries(doc: SweepDocument): Entry[] {
  const sizes: Entry = {
    key: "sweep",
    title: "Sweep",
    build: (_doc, stage) => withFinding(sizeSweep(doc, stage), doc, stage),
  };
  return [
    ...(hasSizes(doc) ? [sizes] : []),
    {
      key: "roundtrip",
      title: "Round trip",
      build: (_doc, stage) => withFinding(roundTrip(doc, stage), doc, stage),
    },
    { key: "table", title: "Table", build: (_doc, stage) => sweepTable(doc, stage) },
  ];
}

/** The picture, then one finding; all of them are one click away. */
function withFinding(part: Part, doc: SerprofDocument, stage: Stage): Part {
  const finding = firstFinding(doc.findings ?? [], stage);
  return { ...part, node: element("div", "", part.node, finding) };
}
