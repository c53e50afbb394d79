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

/** Stands for the rows of a trace that nobody has computed; its spans can be drawn all the same. */
const NO_WATERFALL: Waterfall = { rows: [], unaccounted_ns: 0 };

export function hasWaterfall(trace: DrawnTrace): boolean {
  return trace.waterfall !== NO_WATERFALL;
}

/** A document that cannot be drawn; the message says why and what to do. */
export class UnreadableDocument extends Error {}

const UPGRADE = "Run: pip install --upgrade jupyter_serprof, and reload the page.";
const AGAIN = "Run the cell again to record it anew.";

/** A document that can be drawn, and what its reader has to know about it. */
export interface ReadDocument {
  readonly document: SerprofDocument;
  /** As it came, to be saved. */
  readonly source: unknown;
  readonly warning: string | null;
}

/** The newest version whose every key is known here. */
const KNOWN_VERSION = 1;

/** Return the document, or throw `UnreadableDocument` with a sentence for the reader. */
export function readDocument(value: unknown): ReadDocument {
  if (!isObject(value)) {
    throw new UnreadableDocument(`This output is no jupyter_serprof document. ${AGAIN}`);
  }
  const { format, version } = value;
  if (format !== "serprof.trace" && format !== "serprof.sweep") {
    const shown = shownValue(format);
    throw new UnreadableDocument(`This output has the unknown format ${shown}. ${UPGRADE}`);
  }
  const isNewer = typeof version === "number" && version > KNOWN_VERSION;
  if (!isNewer && version !== KNOWN_VERSION) {
    throw new UnreadableDocument(`This output has no version that exists. ${AGAIN}`);
  }
  if (format === "serprof.trace" ? isTrace(value) : isSweep(value)) {
    const warning = `This output has version ${String(version)}; this front end knows version ${KNOWN_VERSION} and draws what it knows. ${UPGRADE}`;
    return { document: tidy(value), source: value, warning: isNewer ? warning : null };
  }
  throw new UnreadableDocument(
    isNewer
      ? `This output has version ${String(version)}, which this front end cannot draw. ${UPGRADE}`
      : `This output is damaged or incomplete. ${AGAIN}`,
  );
}

const MOST_SHOWN = 40;

function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? "none";
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

/** Optional keys of the wrong kind count as missing: one of them must not cost the picture. */
function tidy(value: Record<string, unknown>): SerprofDocument {
  const kept = (list: unknown, is: (entry: unknown) => boolean): unknown[] =>
    Array.isArray(list) ? list.filter(is) : [];
  const findings = kept(value.findings, isTitled);
  const tidied: Record<string, unknown> = { ...value, findings, name: String(value.name ?? "") };
  for (const key of ["summary", "limits", "quality", "environment", "details"]) {
    if (key in tidied && !isObject(tidied[key])) {
      delete tidied[key];
    }
  }
  if (value.format === "serprof.trace") {
    tidied.groups = isListOf(value.groups, isTitled) ? value.groups : [];
    const waterfall = tidied.waterfall as Waterfall | null | undefined;
    tidied.waterfall = waterfall == null ? NO_WATERFALL : withOutline(waterfall, tidied);
    tidied.tables = kept(value.tables, isTable);
    tidied.anatomies = kept(value.anatomies, isAnatomy);
  } else {
    const points = value.points as unknown[];
    tidied.best = isBest(value.best) ? value.best : null;
    tidied.runs = kept(value.runs, (runs) => isRuns(runs, points));
  }
  tidied.comparison = isComparison(value.comparison) ? value.comparison : null;
  return tidied as unknown as SerprofDocument;
}

/** Findings, groups, stages, columns. */
function isTitled(value: unknown): boolean {
  return isObject(value) && typeof value.title === "string";
}

function isAnatomy(value: unknown): boolean {
  return isObject(value) && Array.isArray(value.strings) && isObject(value.parts);
}

function isComparison(value: unknown): boolean {
  return isObject(value) && isListOf(value.changes, isObject);
}

function isTable(value: unknown): boolean {
  return (
    isObject(value) &&
    isTitled(value) &&
    isListOf(value.columns, isTitled) &&
    isListOf(value.rows, Array.isArray)
  );
}

function isListOf(value: unknown, is: (entry: unknown) => boolean): value is unknown[] {
  return Array.isArray(value) && value.every(is);
}

/** A trace inside a sweep; null where there is nothing to draw. */
export function drawnOf(trace: TraceDocument): DrawnTrace | null {
  const value = trace as unknown as Record<string, unknown>;
  return trace.waterfall != null && isTrace(value) ? (tidy(value) as DrawnTrace) : null;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What JSON says; null where it is none. */
export function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return null;
  }
}

/** A text that is one; "" where it is missing or damaged. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A number that is one; null where it is unknown or damaged. */
export function known(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function isAmount(value: unknown): value is number {
  return (known(value) ?? -1) >= 0;
}

function isTrace(value: Record<string, unknown>): boolean {
  const { stages, lanes, waterfall } = value;
  return (
    isAmount(value.wall_ns) &&
    isListOf(stages, isTitled) &&
    isListOf(lanes, isObject) &&
    ["strings", "spans"].every((key) => typeof value[key] === "object") &&
    (waterfall == null || isWaterfall(waterfall, stages.length))
  );
}

function isWaterfall(value: unknown, stageCount: number): boolean {
  return (
    isObject(value) &&
    isAmount(value.unaccounted_ns) &&
    isListOf(value.rows, (row) => isRow(row, stageCount))
  );
}

/** A computation, its small stages, a stage, its small parts. */
const DEEPEST = 4;

/** Rows whose outline makes no sense stand one after the other. */
function withOutline(waterfall: Waterfall, tidied: Record<string, unknown>): Waterfall {
  const { outline, ...rows } = waterfall;
  return isOutline(outline, waterfall, tidied) ? waterfall : rows;
}

/** Each row once, and headings that stand for a stage, a computation or, with neither, small lines. */
function isOutline(value: unknown, { rows }: Waterfall, tidied: Record<string, unknown>): boolean {
  const told = new Set<unknown>();
  const isIn = (list: unknown, index: unknown): boolean =>
    index === undefined ||
    (Array.isArray(list) && typeof index === "number" && list[index] !== undefined);
  const isLine = (line: unknown, depth: number): boolean =>
    typeof line === "number"
      ? rows[line] !== undefined && told.size !== told.add(line).size
      : isObject(line) &&
        isAmount(line.self_ns) &&
        isIn(tidied.stages, line.stage) &&
        isIn(tidied.groups, line.group) &&
        Array.isArray(line.inside) &&
        depth < DEEPEST &&
        line.inside.every((inner) => isLine(inner, depth + 1));
  return (
    Array.isArray(value) && value.every((line) => isLine(line, 0)) && told.size === rows.length
  );
}

function isRow(row: unknown, stageCount: number): boolean {
  return (
    isObject(row) &&
    ["self_ns", "busy_ns", "stage"].every((key) => isAmount(row[key])) &&
    // A remote clock may put a start before the beginning.
    Number.isFinite(row.start_ns) &&
    (row.pieces === undefined || isListOf(row.pieces, isPiece)) &&
    (row.stage as number) < stageCount
  );
}

function isPiece(piece: unknown): boolean {
  return Array.isArray(piece) && Number.isFinite(piece[0]) && isAmount(piece[1]);
}

function isBest(value: unknown): boolean {
  const sizes = isObject(value) ? [value.size_bytes, value.low_bytes, value.high_bytes] : [];
  return sizes.length > 0 && sizes.every((size) => (known(size) ?? 0) > 0);
}

/** Runs that are told of points that are there; others are not drawn. */
function isRuns(value: unknown, points: readonly unknown[]): boolean {
  const isPlace = (place: unknown): boolean => points[place as number] !== undefined;
  return (
    isObject(value) &&
    isPlace(value.middle) &&
    isListOf(value.points, isPlace) &&
    value.points.length > 0 &&
    (value.quartiles_ns == null || isListOf(value.quartiles_ns, isAmount)) &&
    isListOf(Object.values(value.stages ?? {}), (times) => isListOf(times, isAmount))
  );
}

function isSweep(value: Record<string, unknown>): boolean {
  const { variants, points, traces } = value;
  return (
    isListOf(variants, isObject) &&
    isListOf(traces, (entry) => isObject(entry) && isObject(entry.trace)) &&
    isListOf(
      points,
      (point) => isObject(point) && isAmount(point.wall_ns) && isObject(point.stages),
    )
  );
}
