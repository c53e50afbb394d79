/** Documents with spans, made to measure. */

import type { Columns } from "../src/document/decode";
import { columnsOf, KEYS, numbersOf } from "../src/document/decode";
import type { DrawnTrace, Packed } from "../src/document/document";
import { type Index, indexSpans } from "../src/lanes/tracks";
import { sampleTrace } from "./sample";

export interface SpanSpec {
  readonly start: number;
  readonly length: number;
  readonly lane?: number;
  readonly stage?: number;
  readonly parent?: number;
  readonly name?: number;
  readonly size?: number | null;
}

export function traceOf(spans: readonly SpanSpec[], lanes = 2): DrawnTrace {
  const trace = sampleTrace();
  return {
    ...trace,
    strings: ["dumps", "loads", "write"],
    lanes: Array.from({ length: lanes }, (_, at) => ({ key: `worker ${at}/thread 0` })),
    spans: {
      parent: spans.map((span) => span.parent ?? -1),
      stage: spans.map((span) => span.stage ?? 0),
      lane: spans.map((span) => span.lane ?? 0),
      name: spans.map((span) => span.name ?? 0),
      start_ns: spans.map((span) => span.start),
      duration_ns: spans.map((span) => span.length),
      size_bytes: spans.map((span) => span.size ?? null),
    },
  };
}

export function indexOf(trace: DrawnTrace): Index {
  return indexSpans(trace, plainColumns(trace));
}

/** Of a trace that is not packed. */
export function plainColumns(trace: DrawnTrace): Columns {
  return columnsOf(
    KEYS.map((key) => numbersOf(trace.spans[key])),
    trace,
  );
}

export function columnsFor(spans: readonly SpanSpec[]): Columns {
  return plainColumns(traceOf(spans));
}

/** As the Python side packs: int64, deflate, base64; null is the smallest int64. */
export async function pack(values: readonly (number | null)[]): Promise<Packed> {
  const numbers = BigInt64Array.from(values, (value) =>
    value === null ? -(2n ** 63n) : BigInt(value),
  );
  const stream = new Blob([numbers]).stream().pipeThrough(new CompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return { enc: "deflate+b64", dtype: "int64", n: values.length, data };
}

/** Pseudo random numbers that are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
