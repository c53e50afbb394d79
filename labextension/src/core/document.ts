/**
 * Read a document (format `serprof.trace` or `serprof.sweep`, version 1).
 *
 * A document comes from a notebook that anybody may have written, so what the views rely on is
 * checked here, once; keys that nobody knows are ignored. The types come from the JSON Schema.
 */

import type { SweepDocument, TraceDocument, Waterfall } from "./schema";

export type * from "./schema";

export const MIME_TYPE = "application/vnd.jupyter-serprof.v1+json";

/** A trace whose rows were computed: what a waterfall is drawn from. */
export type DrawnTrace = TraceDocument & { waterfall: Waterfall };
export type SerprofDocument = DrawnTrace | SweepDocument;
export type Scalar = string | number | boolean | null;

/** A document that cannot be drawn; the message says why and what to do. */
export class UnreadableDocument extends Error {}

const UPGRADE = "Run: pip install --upgrade jupyter_serprof, and reload the page.";
const AGAIN = "Run the cell again to record it anew.";

/** Return the document, or throw `UnreadableDocument` with a sentence for the reader. */
export function readDocument(value: unknown): SerprofDocument {
  if (!isObject(value)) {
    throw new UnreadableDocument(`This output is no jupyter_serprof document. ${AGAIN}`);
  }
  const { format, version } = value;
  if (format !== "serprof.trace" && format !== "serprof.sweep") {
    const shown = JSON.stringify(format);
    throw new UnreadableDocument(`This output has the unknown format ${shown}. ${UPGRADE}`);
  }
  if (version !== 1) {
    const shown = JSON.stringify(version);
    throw new UnreadableDocument(
      `This output has version ${shown}; this front end reads version 1. ${UPGRADE}`,
    );
  }
  if (format === "serprof.trace" ? isTrace(value) : isSweep(value)) {
    return value as unknown as SerprofDocument;
  }
  throw new UnreadableDocument(`This output is damaged or incomplete. ${AGAIN}`);
}

export function isDrawn(trace: TraceDocument): trace is DrawnTrace {
  return isTrace(trace as unknown as Record<string, unknown>);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isTrace(value: Record<string, unknown>): boolean {
  const { stages, lanes, waterfall } = value;
  return (
    isAmount(value.wall_ns) &&
    Array.isArray(stages) &&
    stages.every((stage) => isObject(stage) && typeof stage.title === "string") &&
    Array.isArray(lanes) &&
    lanes.every(isObject) &&
    isObject(waterfall) &&
    isAmount(waterfall.unaccounted_ns) &&
    Array.isArray(waterfall.rows) &&
    waterfall.rows.every((row) => isRow(row, stages.length))
  );
}

function isRow(row: unknown, stageCount: number): boolean {
  return (
    isObject(row) &&
    ["self_ns", "busy_ns", "start_ns", "stage"].every((key) => isAmount(row[key])) &&
    (row.stage as number) < stageCount
  );
}

function isSweep(value: Record<string, unknown>): boolean {
  const { variants, points, traces } = value;
  return (
    Array.isArray(variants) &&
    variants.every(isObject) &&
    Array.isArray(traces) &&
    traces.every((entry) => isObject(entry) && isObject(entry.trace)) &&
    Array.isArray(points) &&
    points.every((point) => isObject(point) && isAmount(point.wall_ns) && isObject(point.stages))
  );
}
