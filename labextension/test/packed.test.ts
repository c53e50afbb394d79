import { readFileSync } from "node:fs";

import { afterEach, describe, expect, it } from "vitest";

import { readDocument, type SweepDocument, UnreadableDocument } from "../src/document/document";
import { mount } from "../src/frame/mount";
import anywidget from "../src/hosts/anywidget";

type Data = Record<string, unknown>;

function golden(name: string): Data {
  return JSON.parse(readFileSync(`../tests/data/${name}.serprof.json`, "utf8")) as Data;
}

const TRACE = golden("trace.v1");
const LISTS = golden("sweep.v1");
const PACKED = golden("sweep.v1.packed");
const TABLES = PACKED.packed as Record<string, Record<string, string>>;

function read(data: unknown): SweepDocument {
  return readDocument(data).document as SweepDocument;
}

function withTable(name: string, more: unknown): Data {
  return { ...PACKED, packed: { ...TABLES, [name]: more } };
}

afterEach(() => {
  document.body.replaceChildren();
});

describe("a packed sweep", () => {
  it("says what its lists say, and keeps what came to be saved", () => {
    const lists = read(LISTS);
    const { document: packed, source } = readDocument(PACKED) as {
      document: SweepDocument;
      source: unknown;
    };
    const known = (point: object): Data =>
      Object.fromEntries(Object.entries(point).filter(([, value]) => value !== null));
    expect(packed.points.map(known)).toEqual(lists.points.map(known));
    expect(packed.traces).toHaveLength(2);
    const traces = [lists.traces[0]?.trace, TRACE] as SweepDocument["traces"][0]["trace"][];
    for (const [at, { wall_ns, spans, strings, details, waterfall }] of traces.entries()) {
      const found = packed.traces[at]?.trace;
      expect(found).toMatchObject({ wall_ns, spans, strings, details: details ?? {} });
      const owned = waterfall?.rows.map(({ stage, self_ns }) => [stage, self_ns]);
      expect(found?.waterfall?.rows.map(({ stage, self_ns }) => [stage, self_ns])).toEqual(owned);
    }
    expect(source).toBe(PACKED);
    expect(JSON.stringify(PACKED)).toBe(JSON.stringify(golden("sweep.v1.packed")));
  });

  it("is drawn like one with lists", () => {
    const text = (data: Data, view: string): string | undefined => {
      const place = document.createElement("div");
      document.body.append(place);
      const picture = mount(place, data, { view });
      const said = place.textContent ?? undefined;
      picture.destroy();
      return said;
    };
    const extra = { variant: "ray", size_bytes: 8_000_000, cold: true, trace: TRACE };
    const lists = { ...LISTS, traces: [...(LISTS.traces as unknown[]), extra] };
    expect(text(PACKED, "table")).toBe(text(lists, "table"));
    expect(text(PACKED, "roundtrip")).toBe(text(lists, "roundtrip"));
    expect(text(PACKED, "roundtrip")).toContain("Ray");
  });

  it("grows: points that arrive stand after those in tables", () => {
    const point = { ...(LISTS.points as object[])[0], repeat: 7 };
    const packed = read({ ...PACKED, points: [point] });
    expect(packed.points.map((each) => each.repeat)).toEqual([0, 1, 0, 7]);

    const heard: ((message: unknown) => void)[] = [];
    const bytes = new TextEncoder().encode(JSON.stringify(PACKED));
    const model = {
      get: (name: string) => (name === "document" ? new DataView(bytes.buffer) : "table"),
      on: (event: string, handler: (message: unknown) => void) => {
        if (event === "msg:custom") {
          heard.push(handler);
        }
      },
      off: () => undefined,
    };
    const place = document.createElement("div");
    document.body.append(place);
    anywidget.render({ model, el: place });
    expect(place.querySelectorAll("tbody tr")).toHaveLength(3);
    heard[0]?.({ append: { points: [point] } });
    expect(place.querySelectorAll("tbody tr")).toHaveLength(4);
  });

  it.each([
    ["unequal columns", withTable("points", { ...TABLES.points, wall_ns: "1 2" })],
    ["no JSON", withTable("points", { ...TABLES.points, wall_ns: "1 2 x" })],
    ["no time", withTable("points", { ...TABLES.points, wall_ns: "1 2 " })],
    ["a path inside a value", withTable("points", { ...TABLES.points, "wall_ns/a": "1 2 3" })],
    ["rows that are not there", withTable("rows", {})],
    ["a count below zero", withTable("traces", { ...TABLES.traces, "trace/details": "0 -1" })],
    ["no table", withTable("points", [1])],
    ["no values", withTable("values", { a: 1 })],
    ["neither lists nor tables", { ...LISTS, points: undefined }],
    ["null", { ...LISTS, packed: null }],
  ])("with %s is refused in words", (_, data) => {
    expect(() => read(data)).toThrow(UnreadableDocument);
  });

  it("does not reach the prototype of other objects", () => {
    const paths = ["__proto__/hacked", "stages/__proto__/hacked", "constructor/prototype/hacked"];
    const hostile = Object.fromEntries(paths.map((path) => [path, "1 1 1"]));
    read(withTable("points", { ...TABLES.points, ...hostile }));
    expect(({} as Data).hacked).toBeUndefined();
  });
});
