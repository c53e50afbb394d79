/** Sample documents: small, with sums that hold. The numbers are examples. */

import type { DrawnTrace, Point, SweepDocument } from "../src/document/document";
import type { Host } from "../src/document/host";
import { grouped } from "../src/kit/sort";

export const HOSTILE = '<img src="x" onerror="globalThis.broken = true">';

export function sampleTrace(): DrawnTrace {
  const column: number[] = [];
  return {
    format: "serprof.trace",
    version: 1,
    producer: "jupyter_serprof 0.1.0",
    name: "ray.get(ray.put(a))",
    started: "2026-11-21T08:00:00.000Z",
    wall_ns: 71_300_000,
    outcome: "ok",
    stages: [
      { key: "ray.msgpack", title: "Look at each element", order: 24, family: "pickle" },
      {
        key: "ray.pickle",
        title: "Pickle by Ray",
        order: 26,
        family: "pickle",
        note: "not copied",
      },
      { key: "ray.store", title: "Store", order: 28, family: "store" },
      { key: "ray.fetch", title: "Wait and fetch", order: 51, family: "move", waits: true },
      { key: "ray.unpickle", title: "Unpickle in get", order: 58, family: "pickle" },
    ],
    lanes: [{ key: "client/main", kind: "client" }],
    strings: [],
    spans: {
      parent: column,
      stage: column,
      lane: column,
      name: column,
      start_ns: column,
      duration_ns: column,
      size_bytes: column,
    },
    waterfall: {
      rows: [
        row(0, 200_000, 180_000, { pieces: [[200_000, 180_000]] }),
        row(1, 380_000, 220_000, { size_bytes: 800_000_124, copied_bytes: 124 }),
        row(2, 600_000, 64_000_000, { size_bytes: 800_000_124, copied_bytes: 800_000_124 }),
        row(3, 64_700_000, 5_900_000, { size_bytes: 800_000_124, copied_bytes: 0 }),
        row(4, 70_600_000, 400_000, { count: 1234 }),
      ],
      unaccounted_ns: 600_000,
      outline: [2, 3, { self_ns: 800_000, inside: [0, 1, 4] }],
    },
    summary: {
      headline: "71.3 ms: 90 % is Store, at 97 % of memcpy",
      facts: ["named 99.2 %", "ray 2.60.0", "memcpy on this machine 12.9 GB/s"],
    },
    findings: [
      {
        rule: "ray.put-again",
        severity: "warn",
        title: `The same object was put 3 times ${HOSTILE}`,
        evidence: { repeated_bytes: 2_400_000_000, store_ns: 192_000_000, count: 3, seen: null },
        remedy: "ref = ray.put(a)    # once, then pass ref",
        gain: 2.94,
      },
      {
        rule: "import.first-use",
        severity: "info",
        title: "First use imported 212 modules",
        evidence: { import_ns: 96_000_000 },
        remedy: "import ray.data  # before the measurement",
      },
    ],
    limits: { memcpy_bytes_per_s: 12.9e9 },
    quality: { spans_dropped: 0, clock_error_ns: 0, probes: [] },
  };
}

type Row = DrawnTrace["waterfall"]["rows"][number];

function row(stage: number, startNs: number, selfNs: number, more: Partial<Row>): Row {
  return {
    stage,
    lane: 0,
    start_ns: startNs,
    self_ns: selfNs,
    busy_ns: selfNs,
    size_bytes: null,
    count: 1,
    ...more,
  };
}

export function sampleSweep(): SweepDocument {
  const trace = sampleTrace();
  const point = (cold: boolean, repeat: number, wallNs: number) => ({
    variant: "ray",
    size_bytes: 800_000_000,
    repeat,
    cold,
    wall_ns: wallNs,
    moved_bytes: 800_000_124,
    minor_faults: cold ? 195_313 : 0,
    stages: { "ray.store": wallNs - 1_000_000, "ray.msgpack": 400_000 },
  });
  return told({
    format: "serprof.sweep",
    version: 1,
    name: "a",
    started: "2026-11-21T08:00:00.000Z",
    kind: "roundtrip",
    variants: [
      {
        key: "ray",
        title: "Ray",
        state: "ok",
        result: "zero-copy, read-only",
        facts: { in_band_bytes: 124, out_of_band_bytes: 800_000_000, equal: true },
        buffers: [[800_000_000, "out-of-band"]],
      },
      { key: "dask", title: "Dask", state: "not running", reason: "start a dask client" },
    ],
    points: [
      point(true, 0, 1_210_000_000),
      point(false, 1, 71_300_000),
      point(false, 2, 70_000_000),
      point(false, 3, 90_000_000),
      point(false, 4, 69_000_000),
      point(false, 5, 72_000_000),
    ],
    traces: [{ variant: "ray", size_bytes: 800_000_000, cold: false, trace }],
    limits: { memcpy_bytes_per_s: 12.9e9 },
  });
}

/** With the runs that Python tells of its points. */
export function told(doc: SweepDocument): SweepDocument {
  const timeOf = (at: number): number => doc.points[at]?.wall_ns ?? 0;
  const groups = grouped([...doc.points.keys()], (at) => {
    const { cold, size_bytes, variant } = doc.points[at] as Point;
    return JSON.stringify({ variant, size_bytes, cold });
  });
  const runs = [...groups].map(([key, own]) => {
    const points = own.toSorted((a, b) => timeOf(a) - timeOf(b));
    const middle = points[(points.length - 1) >> 1] as number;
    const times = Object.entries(doc.points[middle]?.stages ?? {});
    const stages = Object.fromEntries(times.map(([stage, ns]) => [stage, [ns, ns, ns]]));
    return { ...JSON.parse(key), points, middle, stages };
  });
  return { ...doc, runs };
}

export const silentHost: Host = { copy: () => Promise.resolve() };
