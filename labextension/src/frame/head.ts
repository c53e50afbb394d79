/** The headline sentence and the line of facts: what is read first. */

import { type DrawnTrace, hasWaterfall, type SerprofDocument } from "../document/document";
import { bytesPerSecond, count, duration, moment } from "../document/format";
import { element } from "../kit/dom";
import { predictionBanner } from "./prediction";

export function head(doc: SerprofDocument): HTMLElement {
  const headline = element("p", "jsp-headline", doc.summary?.headline ?? doc.name);
  headline.setAttribute("role", "heading");
  headline.setAttribute("aria-level", "3");
  const facts = element("p", "jsp-facts", ...factsOf(doc).map((fact) => element("span", "", fact)));
  const { prediction } = doc as Partial<DrawnTrace>;
  const banner = prediction ? predictionBanner(prediction) : null;
  return element("div", "jsp-head", headline, outcome(doc), facts, banner, ...warnings(doc));
}

/** Python writes the facts; a document without them still says when and with what it was recorded. */
function factsOf(doc: SerprofDocument): string[] {
  const written = doc.summary?.facts;
  if (written !== undefined && written.length > 0) {
    return [...written];
  }
  const memcpy = doc.limits?.memcpy_bytes_per_s;
  const probes = doc.quality?.probes ?? [];
  return [
    ...probes
      .filter((probe) => probe.version != null)
      .map((probe) => `${probe.name} ${probe.version}`),
    ...(memcpy == null ? [] : [`memcpy on this machine ${bytesPerSecond(memcpy)}`]),
    ...(doc.quality?.clock_error_ns ? [`clock ±${duration(doc.quality.clock_error_ns)}`] : []),
    `recorded ${moment(doc.started)}`,
  ];
}

function outcome(doc: SerprofDocument): HTMLElement | null {
  if (doc.format !== "serprof.trace" || doc.outcome === "ok") {
    return null;
  }
  const text =
    doc.outcome === "interrupted"
      ? "interrupted: what was measured until then"
      : "ended with an error: what was measured until then";
  return element("p", "jsp-outcome", text);
}

function warnings(doc: SerprofDocument): HTMLElement[] {
  const dropped = doc.quality?.spans_dropped ?? 0;
  const sentences = [
    // Parts of a pickle were counted without a run.
    ...(doc.format === "serprof.trace" && !hasWaterfall(doc) && !doc.anatomies?.length
      ? ["This document has no waterfall: nobody added up its spans. They are on the lanes."]
      : []),
    ...(dropped > 0 ? [`${count(dropped)} spans were dropped; totals stay exact.`] : []),
    ...(doc.quality?.notes ?? []),
  ];
  return sentences.map((sentence) => element("p", "jsp-note", sentence));
}
