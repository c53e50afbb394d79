/**
 * Generated from jupyter_serprof/model/sweep.v1.json and trace.v1.json. Do not edit:
 * change the schema, then run `npm run generate`.
 */

/** Points over variant x size x repeat, and one representative trace for each variant and size. A round trip is a sweep with one size. */
export interface SweepDocument {
  format: "serprof.sweep";
  version: number;
  producer?: string;
  name: string;
  /** ISO 8601, UTC. */
  started: string;
  kind: "roundtrip" | "sweep" | "chunks";
  /** Name of what was varied: n, chunk. */
  parameter?: string;
  variants: Variant[];
  points: Point[];
  runs?: Runs[];
  traces: SweepTrace[];
  fits?: Fit[];
  crossovers?: Crossover[];
  best?: BestSize | null;
  summary?: Summary | null;
  findings?: Finding[];
  comparison?: Comparison | null;
  /** Durations (ns) of fixed work between the warm runs, in order, by kind. */
  control?: {
    [k: string]: number[];
  };
  limits?: Limits;
  quality?: Quality;
  environment?: Scalars;
}
export interface Variant {
  key: string;
  title: string;
  state: "ok" | "failed" | "not installed" | "not running" | "skipped";
  reason?: string;
  result?: string;
  facts?: Scalars;
  /** [size_bytes, place]; place is in-band or out-of-band. */
  buffers?: [number | string, number | string][];
  notes?: string[];
}
export interface Scalars {
  [k: string]: string | number | boolean | null;
}
export interface Point {
  variant: string;
  size_bytes: number | null;
  repeat: number;
  cold: boolean;
  wall_ns: number;
  moved_bytes: number | null;
  minor_faults?: number | null;
  /** What was asked for: elements, rows, the chunk size. */
  parameter?: number | null;
  /** Runs in one recording; all numbers are of one of them. null: one. */
  loops?: number | null;
  /** self_ns by stage key. */
  stages: {
    [k: string]: number;
  };
}
/** All runs of a variant at one size, cold or warm. */
export interface Runs {
  variant: string;
  size_bytes: number | null;
  cold: boolean;
  /** Places in points, by time. */
  points: number[];
  /** Place of the run whose time is that of all. */
  middle: number;
  /**
   * null of fewer than four.
   *
   * @minItems 2
   * @maxItems 2
   */
  quartiles_ns?: [number, number] | null;
  /** Both times of runs in two groups. */
  groups?: string;
  /** [time, low, high] (ns) by stage key, of the runs that have it. */
  stages?: {
    /**
     * @minItems 3
     * @maxItems 3
     */
    [k: string]: [number, number, number];
  };
}
export interface SweepTrace {
  variant: string;
  size_bytes: number | null;
  cold: boolean;
  trace: TraceDocument;
}
/** All spans of one run and the facts about the run. Times are ns from `started`, sizes are bytes, unknown is null. Readers ignore what they do not know. */
export interface TraceDocument {
  format: "serprof.trace";
  version: number;
  producer?: string;
  /** What was run, as typed by the user or given by --name. */
  name: string;
  /** ISO 8601, UTC. */
  started: string;
  wall_ns: number;
  outcome: "ok" | "error" | "interrupted";
  stages: Stage[];
  lanes: Lane[];
  strings: string[];
  spans: Spans;
  /** By index of the span. */
  details?: {
    [k: string]: {};
  };
  waterfall?: Waterfall | null;
  summary?: Summary | null;
  findings?: Finding[];
  groups?: Group[];
  tables?: Table[];
  anatomies?: Anatomy[];
  comparison?: Comparison | null;
  limits?: Limits;
  quality?: Quality;
  environment?: Scalars;
}
export interface Stage {
  key: string;
  title: string;
  order: number;
  family?: string;
  waits?: boolean;
  note?: string;
  /** Key of the stage that this one is a part of. */
  parent?: string;
  page?: string;
}
export interface Lane {
  key: string;
  kind?: string;
  process?: number;
  clock_offset_ns?: number;
  clock_error_ns?: number;
}
/** Columns of one length; stage, lane and name are indices, parent is -1 at a root. */
export interface Spans {
  parent: (number | null)[] | Packed;
  stage: (number | null)[] | Packed;
  lane: (number | null)[] | Packed;
  name: (number | null)[] | Packed;
  start_ns: (number | null)[] | Packed;
  duration_ns: (number | null)[] | Packed;
  size_bytes: (number | null)[] | Packed;
  /** Calls that a span stands for, where it is several. */
  calls?: (number | null)[] | Packed;
}
/** Little-endian int64, deflate (zlib) then base64; the smallest int64 is null. */
export interface Packed {
  enc: "deflate+b64";
  dtype: "int64";
  n: number;
  data: string;
}
/** sum of self_ns plus unaccounted_ns is wall_ns. */
export interface Waterfall {
  rows: Row[];
  unaccounted_ns: number;
  /** What stands below what: each row once, as its index. Without it the rows stand one after the other. */
  outline?: (number | Heading)[];
}
export interface Row {
  stage: number;
  lane: number;
  start_ns: number;
  self_ns: number;
  busy_ns: number;
  size_bytes: number | null;
  copied_bytes?: number | null;
  minor_faults?: number | null;
  count: number;
  /** Index in groups. */
  group?: number | null;
  /**
   * [start_ns, duration_ns] of what the row owned, in order.
   *
   * @maxItems 64
   */
  pieces?: [number, number][];
}
/** A stage with parts (its own row among them), one of several computations, or without either small lines that are told together; self_ns is their sum. */
export interface Heading {
  self_ns: number;
  /** Index in stages. */
  stage?: number;
  /** Index in groups. */
  group?: number;
  inside: (number | Heading)[];
}
export interface Summary {
  headline: string;
  facts?: string[];
  strict_share?: number | null;
  total_share?: number | null;
  /** Facts that stand behind the picture, not above it. */
  details?: string[];
}
export interface Finding {
  rule: string;
  severity: "info" | "warn";
  title: string;
  evidence: Scalars;
  remedy: string;
  gain?: number | null;
  spans?: number[];
  /** Of a remedy that was tried: stage, before_ns, after_ns, low, high, pairs, equal. */
  measured?: Scalars | null;
  /** The evidence, in one sentence. */
  because?: string;
  /** The part of the wall time that it explains. */
  share?: number | null;
  page?: string;
}
/** One of several computations of a run; an instant belongs to the last one that began. */
export interface Group {
  title: string;
  start_ns: number;
  end_ns: number;
}
/** Facts that have no place on the time axis. */
export interface Table {
  key: string;
  title: string;
  note?: string;
  columns: TableColumn[];
  rows: (string | number | boolean | null)[][];
}
export interface TableColumn {
  key: string;
  title: string;
  /** text, count, bytes, ns or ratio */
  unit?: string;
}
/** What one pickle consists of; the root first, each part before what is inside it. */
export interface Anatomy {
  name: string;
  pickler?: string;
  protocol?: number;
  in_band_bytes: number;
  out_of_band_bytes: number;
  plain_bytes?: number | null;
  duration_ns?: number | null;
  is_complete?: boolean;
  strings: string[];
  parts: Parts;
  notes?: string[];
}
/** Columns; label, kind, state and note are indices into strings. state: empty, shared, not opened, unpicklable. */
export interface Parts {
  label: (number | null)[] | Packed;
  kind: (number | null)[] | Packed;
  state: (number | null)[] | Packed;
  note: (number | null)[] | Packed;
  parent: (number | null)[] | Packed;
  self_bytes: (number | null)[] | Packed;
  in_band_bytes: (number | null)[] | Packed;
  out_of_band_bytes: (number | null)[] | Packed;
  count: (number | null)[] | Packed;
  duration_ns: (number | null)[] | Packed;
}
/** Stage by stage; ratio is after over before with its 95 % interval. */
export interface Comparison {
  before: string;
  after: string;
  changes?: Change[];
  noise_share?: number | null;
  /** Run in turns: ratios are of pairs. */
  is_paired?: boolean;
  method?: string;
  notes?: string[];
}
/** stage is empty for the wall time. */
export interface Change {
  stage: string;
  title: string;
  before_ns?: number | null;
  after_ns?: number | null;
  verdict: "faster" | "slower" | "cannot tell" | "only before" | "only after";
  ratio?: number | null;
  low?: number | null;
  high?: number | null;
  before_runs?: number;
  after_runs?: number;
  variant?: string;
  size_bytes?: number | null;
  cold?: boolean | null;
  reason?: string;
  before_groups?: string;
  after_groups?: string;
  /** Told in one line with other small stages. */
  is_small?: boolean;
}
export interface Limits {
  memcpy_bytes_per_s?: number | null;
  first_touch_bytes_per_s?: number | null;
}
export interface Quality {
  spans_dropped?: number;
  span_cost_ns?: number | null;
  clock_error_ns?: number;
  notes?: string[];
  probes?: Probe[];
}
export interface Probe {
  name: string;
  version?: string | null;
  state: string;
  level?: string;
  unseen?: string[];
}
/** A straight line over size, of the whole time or of one stage: fixed_ns + ns_per_byte * size. */
export interface Fit {
  variant: string;
  stage?: string;
  cold: boolean;
  from_bytes: number;
  to_bytes: number;
  growth: "constant" | "linear" | "cannot tell";
  fixed_ns?: number | null;
  ns_per_byte?: number | null;
  low?: number | null;
  high?: number | null;
  /** What is different from from_bytes on, or why no line can be told. */
  cause?: string;
}
/** Two measured sizes between which faster overtakes slower. */
export interface Crossover {
  title: string;
  cold: boolean;
  faster?: string;
  slower?: string;
  from_bytes: number;
  to_bytes: number;
}
/** The recommended chunk, and the sizes that are as good; below, above: what limits there. */
export interface BestSize {
  size_bytes: number;
  low_bytes: number;
  high_bytes: number;
  parameter?: number | null;
  below?: string;
  above?: string;
}
