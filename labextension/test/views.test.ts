import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { mountCompare } from "../src/compare/sides";
import { duration, NOT_APPLICABLE } from "../src/document/format";
import type { View } from "../src/document/host";
import { glossaryOf } from "../src/frame/glossary";
import { runsOf } from "../src/sweep/series";
import { mount } from "./every";
import { pack, traceOf } from "./make";
import { sampleSweep, sampleTrace, told } from "./sample";
import { soon } from "./soon";

let view: View | null = null;

afterEach(() => {
  view?.destroy();
  view = null;
  document.body.replaceChildren();
});

function draw(doc: unknown, name: string): HTMLElement {
  view = mount(document.body, doc, { view: name });
  return document.body.querySelector(".jsp-root") as HTMLElement;
}

const TRACE = traceOf([
  { start: 0, length: 1_000_000, name: 0, size: 100 },
  { start: 2_000_000, length: 1_000_000, name: 2, lane: 1, stage: 2 },
  { start: 5_000_000, length: 1_000_000, name: 1, stage: 4 },
]);

async function drawLanes(doc: unknown = TRACE): Promise<HTMLCanvasElement> {
  const root = draw(doc, "lanes");
  return soon(() => {
    const canvas = root.querySelector<HTMLCanvasElement>("canvas.jsp-canvas");
    expect(canvas).not.toBeNull();
    return canvas as HTMLCanvasElement;
  });
}

function press(node: Element, key: string, more: object = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  node.dispatchEvent(event);
  return event;
}

describe("the view switch", () => {
  it("is a radio group with one tab stop and arrow keys", () => {
    const root = draw(TRACE, "waterfall");
    const radios = () => [...root.querySelectorAll<HTMLElement>(".jsp-switch [role=radio]")];
    expect(radios().map((node) => node.tabIndex)).toEqual([0, -1, -1, -1, -1]);
    press(radios()[0] as HTMLElement, "ArrowLeft");
    expect(radios()[4]?.getAttribute("aria-checked")).toBe("true");
    expect(root.querySelector(".jsp-findings")).not.toBeNull();
  });

  it("opens the view that the host asks for, and the first one for an unknown name", () => {
    expect(draw(TRACE, "table").querySelector(".jsp-grid-table")).not.toBeNull();
    view?.destroy();
    expect(draw(TRACE, "no such view").querySelector(".jsp-waterfall")).not.toBeNull();
  });

  it("offers the sweep over sizes only when there are several", () => {
    const names = (root: HTMLElement) =>
      [...root.querySelectorAll(".jsp-switch [role=radio]")].map((node) => node.textContent);
    expect(names(draw(sampleSweep(), ""))[0]).toBe("Round trip");
    view?.destroy();
    const doc = sampleSweep();
    const more = doc.points.map((point) => ({ ...point, size_bytes: 1_000 }));
    expect(names(draw(told({ ...doc, points: [...doc.points, ...more] }), ""))[0]).toBe("Sweep");
  });
});

describe("lanes", () => {
  it("have a canvas with role, label and description", async () => {
    const canvas = await drawLanes();
    expect(canvas.getAttribute("role")).toBe("application");
    expect(canvas.getAttribute("aria-label")).toContain("3 spans on 2 lanes");
    expect(canvas.tabIndex).toBe(0);
  });

  it("say what the cursor is on, in the order of time", async () => {
    const canvas = await drawLanes();
    const said = () => document.body.querySelector("[aria-live]")?.textContent;
    press(canvas, "n");
    expect(said()).toContain("Look at each element: dumps");
    press(canvas, "n");
    expect(said()).toContain("Store: write");
    press(canvas, "End");
    expect(said()).toContain("Unpickle in get: loads");
    press(canvas, "p");
    expect(said()).toContain("Store: write");
  });

  it("keep handled keys from the notebook and leave it the others", async () => {
    const canvas = await drawLanes();
    const heard = vi.fn();
    document.body.addEventListener("keydown", heard, { once: false });
    expect(press(canvas, "d").defaultPrevented).toBe(true);
    expect(heard).not.toHaveBeenCalled();
    expect(press(canvas, "x").defaultPrevented).toBe(false);
    press(canvas, "s", { ctrlKey: true });
    expect(heard).toHaveBeenCalledTimes(2);
    document.body.removeEventListener("keydown", heard);
  });

  it("zoom with ctrl and wheel only; the plain wheel belongs to the page", async () => {
    const canvas = await drawLanes();
    const wheel = (ctrlKey: boolean) => {
      const event = new WheelEvent("wheel", { deltaY: -100, cancelable: true, bubbles: true });
      Object.defineProperty(event, "ctrlKey", { value: ctrlKey });
      canvas.dispatchEvent(event);
      return event.defaultPrevented;
    };
    expect(wheel(false)).toBe(false);
    expect(wheel(true)).toBe(true);
  });

  it("sum a marked area", async () => {
    const canvas = await drawLanes();
    press(canvas, "m");
    const area = document.body.querySelector(".jsp-area");
    expect(area?.textContent).toContain("Store");
    press(canvas, "Escape");
    expect(area?.textContent).toBe("");
  });

  it("show a card when a span is pinned, with what was recorded", async () => {
    const canvas = await drawLanes();
    expect(document.body.querySelector(".jsp-tip")).toBeNull();
    press(canvas, "n");
    press(canvas, "Enter");
    const tip = document.body.querySelector(".jsp-tip");
    expect(tip?.textContent).toContain("Look at each element: dumps");
    expect(tip?.textContent).toContain("100\u00a0B");
  });

  it("tell how many calls a span stands for, where that is known", async () => {
    for (const [calls, said] of [
      [[3_000, 3_000, 3_000], "3,000"],
      [await pack([3_000, 3_000, 3_000]), "3,000"],
      [[null, null, null], null],
      [[], null],
    ] as const) {
      const canvas = await drawLanes({
        ...TRACE,
        spans: { ...TRACE.spans, calls: calls as never },
      });
      press(canvas, "n");
      press(canvas, "Enter");
      const text = document.body.querySelector(".jsp-tip")?.textContent ?? "";
      expect(/calls\D*([\d,]+)/.exec(text)?.[1] ?? null).toBe(said);
      view?.destroy();
    }
  });

  it("draw packed columns", async () => {
    const spans = { ...TRACE.spans, start_ns: await pack([0, 2_000_000, 5_000_000]) };
    const canvas = await drawLanes({ ...TRACE, spans });
    expect(canvas.getAttribute("aria-label")).toContain("3 spans");
  });

  it("say so when columns are damaged or nothing was recorded", async () => {
    await drawLanes({ ...TRACE, spans: { ...TRACE.spans, lane: [0] } });
    expect(document.body.textContent).toContain("unequal lengths; 1 of 3");
    view?.destroy();
    await drawLanes(traceOf([]));
    expect(document.body.textContent).toContain("No span was recorded");
  });
});

describe("the waterfall", () => {
  it("says of each stage what it contains, and in the help what the words mean", async () => {
    const root = draw(TRACE, "waterfall");
    const button = root.querySelector("[aria-label='What Pickle by Ray consists of']");
    expect(button?.getAttribute("aria-description")).toBe("not copied");
    expect(button?.closest("th")?.dataset.note).toBe("Pickle by Ray: not copied");
    root.querySelector<HTMLElement>("[aria-label='Keys and words']")?.click();
    const shown = ["Pickle by Ray", "zero-copy", "memcpy"];
    await soon(() => {
      const words = [...root.querySelectorAll(".jsp-words dt")].map((word) => word.textContent);
      expect(words).toEqual(expect.arrayContaining(shown));
    });
    expect((await glossaryOf(TRACE, "Of MEMCPY")).map(([word]) => word)).toEqual(["memcpy"]);
  });

  it("opens a stage to its spans by name", async () => {
    const trace = traceOf([
      { start: 0, length: 10, name: 0 },
      { start: 20, length: 10, name: 1 },
    ]);
    const root = draw(trace, "waterfall");
    const name = "What Look at each element consists of";
    const button = root.querySelector<HTMLElement>(`[aria-label="${name}"]`);
    button?.click();
    await soon(() => expect(root.querySelectorAll(".jsp-child")).toHaveLength(2));
    expect(button?.getAttribute("aria-expanded")).toBe("true");
    button?.click();
    await soon(() => expect(root.querySelectorAll(".jsp-child")).toHaveLength(0));
  });
});

describe("the table", () => {
  it("is sorted by a button in its head", () => {
    const root = draw(TRACE, "table");
    const heads = [...root.querySelectorAll<HTMLElement>(".jsp-sort")];
    heads.find((head) => head.textContent === "self")?.click();
    const first = root.querySelector("tbody th")?.textContent;
    expect(first).toBe("Store");
    expect(root.querySelector('[aria-sort="descending"]')?.textContent).toBe("self");
  });

  it("is copied through the host", () => {
    const copy = vi.fn();
    view = mount(document.body, TRACE, { view: "table", copy });
    document.body.querySelector<HTMLElement>(".jsp-tools button")?.click();
    expect(copy.mock.calls[0]?.[0]).toContain("| Stage | Lane |");
  });

  it("lists spans when asked, in pages", async () => {
    const many = traceOf(Array.from({ length: 250 }, (_, at) => ({ start: at, length: 1 })));
    const root = draw(many, "table");
    const spans = [...root.querySelectorAll<HTMLElement>("[role=radio]")];
    spans.find((node) => node.textContent === "Spans")?.click();
    await soon(() => expect(root.querySelectorAll("tbody tr")).toHaveLength(200));
  });
});

describe("saving", () => {
  it("hands the document to the host under a safe name", async () => {
    const save = vi.fn();
    view = mount(document.body, { ...TRACE, name: "../x?" }, { save });
    const button = [...document.body.querySelectorAll("button")].find(
      (node) => node.textContent === "Document (JSON)",
    );
    button?.click();
    await soon(() => expect(save).toHaveBeenCalled());
    expect(save.mock.calls[0]?.[0]).toBe("x.serprof.json");
  });
});

describe("a comparison", () => {
  it("of traces shows both sides and leaves the verdict to Python", () => {
    const slower = { ...sampleTrace(), wall_ns: 81_300_000 };
    const compare = mountCompare(document.body, sampleTrace(), slower);
    const text = document.body.textContent;
    expect(text).toContain("10.0\u00a0ms more");
    expect(text).toContain("sp.compare tells, of both saved");
    expect(text).not.toMatch(/cannot tell|slower|verdict/);
    expect(document.body.querySelector(".jsp-total")?.textContent).toContain("1.14");
    compare.destroy();
    expect(document.body.childElementCount).toBe(0);
  });

  it("of repeats has the times of the documents, and no ratio of other code", () => {
    const before = sampleSweep();
    const tripled = before.points.map((point) => ({ ...point, wall_ns: point.wall_ns * 3 }));
    const cells = (name: string): (string | null)[] => {
      const compare = mountCompare(
        document.body,
        before,
        told({ ...before, name, points: tripled }),
      );
      const found = [...document.body.querySelectorAll(".jsp-total .jsp-number")];
      const headline = document.body.querySelector(".jsp-head")?.firstElementChild?.textContent;
      expect(headline).toContain(name === before.name ? "every run was slower" : name);
      const texts = found.slice(0, 3).map((cell) => cell.textContent);
      compare.destroy();
      return texts;
    };
    const [run] = runsOf(before, before.variants[0]?.key ?? "").filter(({ cold }) => !cold);
    const [first, , ratio] = cells(before.name);
    expect(first).toContain(duration(run?.point.wall_ns ?? 0));
    expect(ratio).toBe("3.00");
    expect(cells("other()")[2]).toBe(NOT_APPLICABLE);
  });

  it("of a trace with a sweep says that they share nothing", () => {
    const compare = mountCompare(document.body, sampleTrace(), sampleSweep());
    const said = document.body.querySelector(".jsp-headline")?.textContent;
    expect(said).toBe("Nothing to compare: one has many runs, the other is one run");
    compare.destroy();
  });
});

describe("bad input", () => {
  it("of a newer version is drawn as far as it is known, and it is said", () => {
    const root = draw({ ...TRACE, version: 2, novelty: { a: 1 } }, "waterfall");
    expect(root.querySelector(".jsp-waterfall")).not.toBeNull();
    expect(root.textContent).toContain("has version 2");
  });

  it.each([
    ["zero duration", { wall_ns: 0 }],
    ["no optional keys", { summary: undefined, findings: undefined, limits: undefined }],
    ["optional keys of the wrong kind", { summary: 3, findings: "x", limits: [], details: 1 }],
    ["findings without parts", { findings: [{ title: "only a title" }, null, 7] }],
    ["lanes without names", { lanes: [{}, {}] }],
    ["strings that are no strings", { strings: [1, null, {}] }],
  ])("is drawn in every view: %s", async (_name, change) => {
    for (const name of ["waterfall", "lanes", "table", "findings"]) {
      const root = draw({ ...TRACE, ...change }, name);
      await Promise.resolve();
      expect(root.querySelector("[role=alert]"), name).toBeNull();
      expect(root.textContent, name).not.toContain("cannot be drawn");
      view?.destroy();
    }
  });

  it("of a run without duration stays within the page", () => {
    const root = draw({ ...TRACE, wall_ns: 0 }, "waterfall");
    for (const bar of root.querySelectorAll<HTMLElement>(".jsp-bar")) {
      expect(Number.parseFloat(bar.style.left) + Number.parseFloat(bar.style.width)).toBeLessThan(
        101,
      );
    }
  });

  it("with clocks that are behind stands at the edge", () => {
    const trace = structuredClone(TRACE);
    const row = trace.waterfall.rows[0] as (typeof trace.waterfall.rows)[number];
    row.start_ns = -4_000;
    row.pieces = [[-4_000, 5_000]];
    const bar = draw(trace, "waterfall").querySelector<HTMLElement>("tbody .jsp-bar");
    expect(Number.parseFloat(bar?.style.left ?? "")).toBeGreaterThanOrEqual(0);
  });
});

describe("a column", () => {
  const doc = sampleSweep();
  const [ray, ...others] = doc.variants as [(typeof doc.variants)[0], ...typeof doc.variants];
  const facts = { ...ray.facts, vs_fastest: "1.0×", tried: true, gain: 2 };
  const change = { stage: "", title: "Wall time", ratio: 0.5, low: 0.4, high: 0.6 };
  const changed = { ...change, before_ns: 2, after_ns: 1, before_runs: 9, after_runs: 9 };
  const comparison = { before: "a", after: "b", changes: [{ ...changed, verdict: "faster" }] };
  const rows = sampleTrace().waterfall.rows.map((row) => ({ ...row, minor_faults: 3 }));
  const trace = { ...sampleTrace(), waterfall: { ...sampleTrace().waterfall, rows } };
  const samples: Record<string, unknown> = {
    waterfall: trace,
    roundtrip: { ...doc, variants: [{ ...ray, facts }, ...others] },
    compare: { ...trace, comparison },
  };

  it.each(Object.entries(samples))(
    "of a %s has the name that other forms have",
    async (kind, sample) => {
      const known = JSON.parse(readFileSync("../tests/data/heads.json", "utf8"))[kind];
      const headsIn = (root: HTMLElement): string[] =>
        [...root.querySelectorAll("thead th")].map(({ childNodes: [first] }) =>
          (first?.textContent ?? "").toLowerCase(),
        );
      const heads = headsIn(draw(sample, kind)).filter((head) => /^(?!run$)[a-z][^◂]*$/.test(head));
      expect(known.heads).toEqual(expect.arrayContaining(heads));
      const table = headsIn(draw(sample, "table"));
      const glossary = await glossaryOf(TRACE, [...heads, ...table].join(" "));
      const words = glossary.map(([word]) => word);
      for (const head of heads) {
        expect(
          words.some((word) => head.includes(word) || word.includes(head)),
          head,
        ).toBe(true);
      }
    },
  );
});
