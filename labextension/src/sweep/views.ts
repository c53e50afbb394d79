/** Which views a sweep has: over sizes where there are several, and its runs. */

import { withFinding } from "../frame/findings";
import { entry, type Provider, type ViewSet } from "../frame/part";
import { roundTrip } from "./roundtrip";
import { hasSizes } from "./series";
import { sizeSweep } from "./sizes";

export const sizesOf: Provider = (doc) =>
  doc.format === "serprof.sweep" && hasSizes(doc)
    ? entry("sweep", doc.kind === "chunks" ? "Chunk sizes" : "Sweep", (stage) =>
        withFinding(sizeSweep(doc, stage), doc, stage),
      )
    : [];

export const roundTripOf: Provider = (doc) =>
  doc.format === "serprof.sweep"
    ? entry("roundtrip", doc.kind === "chunks" ? "Runs" : "Round trip", (stage) =>
        withFinding(roundTrip(doc, stage), doc, stage),
      )
    : [];

export const SWEEPS: ViewSet = [sizesOf, roundTripOf];
