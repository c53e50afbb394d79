import { describe, expect, it, vi } from "vitest";

import { decodeColumns } from "../src/document/decode";
import { pack, traceOf } from "./make";

const SPANS = [
  { start: 0, length: 10, size: 5 },
  { start: 2, length: 3, parent: 0, size: null },
];

describe("columns", () => {
  it("are read from plain lists; unknown is told from zero", async () => {
    const columns = await decodeColumns(traceOf(SPANS));
    expect([...columns.start]).toEqual([0, 2]);
    expect([...columns.parent]).toEqual([-1, 0]);
    expect(columns.size[0]).toBe(5);
    expect(columns.size[1]).toBeNaN();
    expect(columns.problem).toBeNull();
  });

  it("are inflated when packed, negative and large values too", async () => {
    const trace = traceOf(SPANS);
    const spans = {
      ...trace.spans,
      start_ns: await pack([-5, 2 ** 40 + 3]),
      size_bytes: await pack([null, 0]),
      parent: await pack([-1, 0]),
    };
    const packed = { ...trace, spans };
    const columns = await decodeColumns(packed);
    expect([...columns.start]).toEqual([-5, 2 ** 40 + 3]);
    expect(columns.size[0]).toBeNaN();
    expect(columns.size[1]).toBe(0);
    expect([...columns.parent]).toEqual([-1, 0]);
  });

  it("of unequal length are cut to the shortest, and it is said", async () => {
    const trace = traceOf(SPANS);
    const spans = { ...trace.spans, lane: [0] };
    const columns = await decodeColumns({ ...trace, spans });
    expect(columns.count).toBe(1);
    expect(columns.problem).toContain("1 of 2");
  });

  it("that are damaged are named and count as empty", async () => {
    const trace = traceOf(SPANS);
    const broken = { enc: "deflate+b64", dtype: "int64", n: 2, data: "%%%" } as const;
    const columns = await decodeColumns({ ...trace, spans: { ...trace.spans, name: broken } });
    expect(columns.count).toBe(0);
    expect(columns.problem).toContain("name");
  });

  it("are inflated no further than they announce", async () => {
    const trace = traceOf(SPANS);
    const name = { ...(await pack(new Array(2_000_000).fill(0))), n: 2 };
    const read = vi.spyOn(ReadableStreamDefaultReader.prototype, "read");
    const columns = await decodeColumns({ ...trace, spans: { ...trace.spans, name } });
    const chunks = await Promise.all(read.mock.results.map(({ value }) => value));
    read.mockRestore();
    const lengths = chunks.map(({ value }) => value?.length ?? 0);
    expect(columns.problem).toBeNull();
    expect(lengths).toHaveLength(1);
    expect(lengths[0]).toBeLessThan(1_000_000);
  });

  it("that announce more than there is are cut; no room is made for it", async () => {
    const trace = traceOf(SPANS);
    const name = { ...(await pack([0, 0])), n: 2 ** 40 };
    const columns = await decodeColumns({ ...trace, spans: { ...trace.spans, name } });
    expect([columns.count, columns.problem]).toEqual([2, null]);
  });

  it("point nowhere when an index is out of range", async () => {
    const trace = traceOf([{ start: 0, length: 1, stage: 99, lane: 7, name: -4 }]);
    const columns = await decodeColumns(trace);
    expect([columns.stage[0], columns.lane[0], columns.name[0]]).toEqual([-1, -1, -1]);
  });
});
