/** Documents of any size, shaped like a Dask computation: a scheduler that hands tasks to workers. */

import type { Anatomy, DrawnTrace, Packed } from "../src/document/document";

const STAGES = [
  { key: "dask.schedule", title: "Scheduling", order: 50, family: "schedule" },
  { key: "dask.dispatch", title: "Task dispatch", order: 60, family: "move" },
  { key: "dask.execute", title: "Execution", order: 80, family: "execute" },
  { key: "pickle.loads", title: "Unpickle", order: 85, family: "pickle" },
  { key: "dask.wait", title: "Wait for the result", order: 90, family: "move", waits: true },
];
const SCHEDULER = 1;
const TASK_NS = 30_000;

type Column = Packed | number[];

/** About `count` spans over `workers` lanes, packed as the Python side packs them, or plain. */
export async function documentOf(
  count: number,
  workers: number,
  isPacked = true,
): Promise<DrawnTrace> {
  const random = seeded(count);
  const spans: number[][] = [[-1, 4, 0, 0, 0, 0, 0]];
  let time = 0;
  // A task is three spans: its transition, its run, and the unpickling inside the run.
  for (let task = 0; spans.length < count; task += 1) {
    const lane = 2 + (task % workers);
    time += TASK_NS / 4 + random() * TASK_NS;
    spans.push([-1, task % 5 === 0 ? 1 : 0, SCHEDULER, 1, time, TASK_NS / 8, 900]);
    const start = time + TASK_NS / 5;
    spans.push([-1, 2, lane, 2, start, TASK_NS * (0.5 + random()), 0]);
    spans.push([spans.length - 1, 3, lane, 3, start + 500, TASK_NS / 10, 115_000]);
  }
  const wall = Math.ceil(time + 3 * TASK_NS);
  (spans[0] as number[])[5] = wall;
  const column = async (at: number): Promise<Column> => {
    const values = spans.map((span) => Math.floor(span[at] as number));
    return isPacked ? pack(values) : values;
  };
  const [parent, stage, lane, name, start_ns, duration_ns, size_bytes] = (await Promise.all(
    [0, 1, 2, 3, 4, 5, 6].map(column),
  )) as [Column, Column, Column, Column, Column, Column, Column];
  return {
    format: "serprof.trace",
    version: 1,
    name: `${count} spans`,
    started: "2026-01-01T00:00:00.000Z",
    wall_ns: wall,
    outcome: "ok",
    stages: STAGES,
    lanes: [
      { key: "client/main", kind: "client", process: 0 },
      { key: "scheduler", kind: "scheduler", process: 1, clock_error_ns: 400_000 },
      ...Array.from({ length: workers }, (_, at) => ({
        key: `worker ${at >> 1}/thread ${at % 2}`,
        kind: "worker",
        process: 2 + (at >> 1),
      })),
    ],
    strings: ["result()", "transition", "run task", "loads"],
    spans: { parent, stage, lane, name, start_ns, duration_ns, size_bytes },
    waterfall: {
      rows: STAGES.slice(0, 3).map((_, at) => ({
        stage: at,
        lane: at === 2 ? 2 : SCHEDULER,
        start_ns: 0,
        self_ns: Math.floor(wall / 4),
        busy_ns: Math.floor(wall / 3),
        size_bytes: null,
        count: Math.floor(count / 3),
        pieces: [[Math.floor((at * wall) / 4), Math.floor(wall / 4)]],
      })),
      unaccounted_ns: wall - 3 * Math.floor(wall / 4),
    },
    findings: [],
  };
}

/** So many parts, a hundred of them below the root and the others below those, packed. */
export async function anatomyOf(count: number): Promise<Anatomy> {
  const random = seeded(count);
  const wide = 100;
  const parent = Array.from({ length: count }, (_, at) =>
    at === 0 ? -1 : at <= wide ? 0 : 1 + (at % wide),
  );
  const own = parent.map((_, at) => (at === 0 ? 60 : 50 + Math.floor(random() * 5_000)));
  const whole = [...own];
  for (let at = count - 1; at > 0; at -= 1) {
    const above = parent[at] as number;
    whole[above] = (whole[above] as number) + (whole[at] as number);
  }
  const same = (value: number): Promise<Packed> => pack(parent.map(() => value));
  const [label, kind, state, note] = await Promise.all([1, 2, 0, 0].map(same));
  const [up, self, bytes] = await Promise.all([parent, own, whole].map(pack));
  const [none, one] = await Promise.all([0, 1].map(same));
  return {
    name: `${count} parts`,
    in_band_bytes: whole[0] as number,
    out_of_band_bytes: 0,
    strings: ["", "[0]", "dict"],
    parts: {
      label: label as Packed,
      kind: kind as Packed,
      state: state as Packed,
      note: note as Packed,
      parent: up as Packed,
      self_bytes: self as Packed,
      in_band_bytes: bytes as Packed,
      out_of_band_bytes: none as Packed,
      count: one as Packed,
      duration_ns: none as Packed,
    },
  };
}

async function pack(values: readonly number[]): Promise<Packed> {
  const numbers = BigInt64Array.from(values, (value) => BigInt(Math.floor(value)));
  const stream = new Blob([numbers]).stream().pipeThrough(new CompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 8_192) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 8_192)));
  }
  return { enc: "deflate+b64", dtype: "int64", n: values.length, data: btoa(parts.join("")) };
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
