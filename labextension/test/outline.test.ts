import { afterEach, describe, expect, it } from "vitest";
import { type DrawnTrace, readDocument } from "../src/document/document";
import type { View } from "../src/document/host";
import { columnsOf } from "../src/waterfall/columns";
import { handovers, ownersOf } from "../src/waterfall/critical";
import {
  type BlockNode,
  coverOf,
  groupAt,
  type Node,
  outlineOf,
  rowsIn,
} from "../src/waterfall/outline";
import { marksOf } from "../src/waterfall/path";
import { magnifiedRange } from "../src/waterfall/rows";
import { mount } from "./every";
import { sampleSweep, sampleTrace } from "./sample";
import { soon } from "./soon";

type Row = DrawnTrace["waterfall"]["rows"][number];
type Line = NonNullable<DrawnTrace["waterfall"]["outline"]>[number];

let view: View | null = null;

afterEach(() => {
  view?.destroy();
  view = null;
  document.body.replaceChildren();
});

const STAGES = [
  { key: "build", title: "Build", order: 10, family: "build" },
  { key: "schedule", title: "Scheduling", order: 50, family: "schedule" },
  { key: "schedule.order", title: "Order", order: 51, family: "schedule", parent: "schedule" },
  { key: "schedule.unpickle", title: "Unpickle", order: 52, family: "pickle", parent: "schedule" },
  { key: "execute", title: "Execution", order: 80, family: "execute", parent: "" },
];

function row(stage: number, start: number, length: number, more: Partial<Row> = {}): Row {
  const own = { start_ns: start, self_ns: length, busy_ns: length, pieces: [[start, length]] };
  return { stage, lane: 0, size_bytes: null, count: 1, ...own, ...more } as Row;
}

const ROWS = [
  row(0, 0, 100),
  row(1, 100, 50),
  row(2, 150, 200),
  row(3, 350, 150),
  row(4, 500, 400, { busy_ns: 900 }),
];

function traceWith(
  rows: readonly Row[],
  outline?: readonly Line[] | null,
  more: object = {},
): DrawnTrace {
  const own = rows.reduce((sum, each) => sum + each.self_ns, 0);
  const told = outline == null ? {} : { outline: outline as Line[] };
  return {
    ...sampleTrace(),
    wall_ns: 1_000,
    stages: STAGES,
    waterfall: { rows: [...rows], unaccounted_ns: 1_000 - own, ...told },
    ...more,
  };
}

const SCHEDULING = { stage: 1, self_ns: 400, inside: [1, 2, 3] };
const OUTLINE = [0, SCHEDULING, 4];

it("of a wait no busy time is told, in no row and in no sum", () => {
  const stages = STAGES.map((stage, at) => ({ ...stage, waits: at === 2 || at === 4 }));
  const trace = traceWith(ROWS, OUTLINE, { stages });
  const busy = columnsOf(trace).find(({ name }) => name === "busy");
  const scheduling = rowsIn(outlineOf(trace)[1] as BlockNode);
  expect(ROWS.map((each, at) => busy?.text(each, at))).toEqual([
    "0.100",
    "0.050",
    "–",
    "0.150",
    "–",
  ]);
  expect(busy?.sum(scheduling)).toBe("0.200");
  expect(busy?.sum(scheduling.slice(1, 2))).toBe("–");
});

const GROUPS = [
  { title: "x.sum()", start_ns: 0, end_ns: 500 },
  { title: "y.mean()", start_ns: 500, end_ns: 1_000 },
];
const GROUPED = traceWith(
  [
    row(0, 0, 100, { group: 0 }),
    row(2, 100, 200, { group: 0 }),
    row(0, 500, 100, { group: 1 }),
    row(4, 600, 200, { group: null }),
  ],
  [
    { group: 0, self_ns: 300, inside: [0, { stage: 1, self_ns: 200, inside: [1] }] },
    { group: 1, self_ns: 100, inside: [2] },
    3,
  ],
  { groups: GROUPS },
);

/** "Scheduling(1 2 3)" for a block, its position for a row. */
function shown(nodes: readonly Node[]): string {
  return nodes
    .map((node) => (node.kind === "row" ? node.position : `${node.title}(${shown(node.nodes)})`))
    .join(" ");
}

describe("the rows of a waterfall", () => {
  it("stand below what the document says, the own row of a stage among its parts", () => {
    const nodes = outlineOf(traceWith(ROWS, OUTLINE));
    expect(shown(nodes)).toBe("0 Scheduling(1 2 3) 4");
    const rest = nodes.flatMap(rowsIn).filter((node) => node.isRest);
    expect(rest.map((node) => node.position)).toEqual([1]);
    expect(shown(outlineOf(GROUPED))).toBe("x.sum()(0 Scheduling(1)) y.mean()(2) 3");
  });

  it("stand one after the other where it says nothing", () => {
    expect(shown(outlineOf(traceWith(ROWS)))).toBe("0 1 2 3 4");
  });

  it("are folded when they took little, or are many", () => {
    const isOpen = (rows: readonly Row[], self_ns: number): boolean | undefined => {
      const others = [...rows.keys()].slice(3);
      const outline = [0, { stage: 1, self_ns, inside: [1, 2] }, ...others];
      const block = outlineOf(traceWith(rows, outline)).find((node) => node.kind === "stage");
      return block?.kind === "stage" ? block.isOpen : undefined;
    };
    expect(isOpen(ROWS, 250)).toBe(true);
    expect(isOpen(ROWS, 40)).toBe(false);
    expect(isOpen([...ROWS, ...Array.from({ length: 8 }, () => row(0, 0, 0))], 250)).toBe(false);
  });

  it.each([
    ["a row twice", [0, 1, 1, 2, 3, 4]],
    ["a row that is not there", [0, 1, 2, 3, 4, 5]],
    ["a row less", [0, 1, 2, 3]],
    ["no list", { 0: 1 }],
    ["a stage that is not there", [0, { ...SCHEDULING, stage: 9 }, 4]],
    ["a stage that is no number", [0, { ...SCHEDULING, stage: "length" }, 4]],
    ["a computation that is not there", [0, { self_ns: 400, group: 0, inside: [1, 2, 3] }, 4]],
    ["a heading without a sum", [0, { ...SCHEDULING, self_ns: null }, 4]],
    ["a heading with nothing inside", [0, 1, 2, 3, 4, null]],
    [
      "no bottom",
      [JSON.parse(`${'{"stage":1,"self_ns":0,"inside":['.repeat(99)}${"]}".repeat(99)}`)],
    ],
  ])("survive an outline with %s", (_name, outline) => {
    const doc = traceWith(ROWS, outline as Line[]);
    const { document: read } = readDocument(doc);
    expect(shown(outlineOf(read as DrawnTrace))).toBe("0 1 2 3 4");
    const sweep = { ...sampleSweep(), traces: [{ ...sampleSweep().traces[0], trace: doc }] };
    draw(sweep);
  });

  it("cover together what each of them covers", () => {
    const node = outlineOf(traceWith(ROWS, OUTLINE))[1] as Node;
    expect(coverOf(rowsIn(node))).toEqual({ pieces: [[100, 400]], density: 1 });
  });

  it("give an instant to the computation that began last", () => {
    const nested = { ...GROUPED, groups: [...GROUPS, { title: "z", start_ns: 100, end_ns: 200 }] };
    expect([50, 150, 300, 700, 2_000].map((time) => groupAt(nested, time))).toEqual([
      0,
      2,
      0,
      1,
      null,
    ]);
  });

  it("survive groups and tables that make no sense", () => {
    const doc = traceWith(ROWS, null, { groups: [3], tables: [{}, null] });
    expect(readDocument(doc).document).toMatchObject({ groups: [], tables: [] });
  });
});

function draw(doc: unknown): HTMLElement {
  view = mount(document.body, doc, { view: "waterfall" });
  return document.body.querySelector(".jsp-root") as HTMLElement;
}

function lineOf(root: HTMLElement, title: string): HTMLTableRowElement {
  const rows = [...root.querySelectorAll<HTMLTableRowElement>("tbody tr")];
  return rows.find(
    (each) => each.querySelector(".jsp-stage-name")?.textContent === title,
  ) as HTMLTableRowElement;
}

function numbersOf(line: HTMLElement): (string | null)[] {
  return [...line.querySelectorAll(".jsp-number")].slice(0, 3).map((cell) => cell.textContent);
}

function visible(root: HTMLElement): (string | null | undefined)[] {
  return [...root.querySelectorAll<HTMLElement>("tbody tr")]
    .filter((line) => !line.hidden)
    .map((line) => line.querySelector(".jsp-stage-name")?.textContent);
}

describe("a block of rows", () => {
  it("has the sums of its rows, and nothing of its own", () => {
    const root = draw(traceWith(ROWS, OUTLINE));
    expect(numbersOf(lineOf(root, "Scheduling"))).toEqual(["0.400", "40.0", "0.400"]);
    expect(numbersOf(lineOf(root, "itself"))).toEqual(["0.050", "5.0", "0.050"]);
  });

  it("has the bytes of its own row, who did most, and grey where it waits, as the picture has", () => {
    const rows = [
      row(1, 0, 300, { size_bytes: 48_000 }),
      row(2, 300, 500, { size_bytes: 96_000, lane: 1 }),
    ];
    const stages = STAGES.map((each) => ({ ...each, waits: each.key === "schedule.order" }));
    const outline = [{ stage: 1, self_ns: 800, inside: [0, 1] }];
    const lanes = ["client", "scheduler"].map((key) => ({ key, kind: key }));
    const root = draw(traceWith(rows, outline, { stages, lanes }));
    const block = root.querySelector(".jsp-block-stage") as HTMLElement;
    const text = (name: string): string | null | undefined =>
      block.querySelector(name)?.textContent;
    expect(text(".jsp-column-bytes")).toBe("48.0\u00a0kB");
    expect(text(".jsp-lane")).toBe("scheduler");
    const kinds = [...block.querySelectorAll(".jsp-bar")].map((bar) => bar.className);
    expect(kinds).toEqual(["jsp-bar jsp-waits", "jsp-bar jsp-schedule"]);
  });

  it("adds up to what is printed, whatever was rounded", () => {
    const thirds = [1, 2, 3].map((stage) => row(stage, stage * 333, 333));
    const root = draw(traceWith(thirds, [{ stage: 1, self_ns: 999, inside: [0, 1, 2] }]));
    const share = (title: string) => Number(numbersOf(lineOf(root, title))[1]);
    const parts = ["itself", "Order", "Unpickle"].map(share);
    expect(parts.reduce((sum, each) => sum + each, 0)).toBeCloseTo(share("Scheduling"), 9);
  });

  it("folds by click and by keys, and what was opened inside goes with it", async () => {
    const root = draw(traceWith(ROWS, OUTLINE));
    const all = ["Build", "Scheduling", "itself", "Order", "Unpickle", "Execution"];
    expect(visible(root)).toEqual([...all, "Unaccounted"]);
    lineOf(root, "Order").click();
    await soon(() => expect(root.querySelector(".jsp-row-note")).not.toBeNull());
    const button = lineOf(root, "Scheduling").querySelector("button") as HTMLElement;
    button.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
    expect(visible(root)).toEqual(["Build", "Scheduling", "Execution", "Unaccounted"]);
    expect(button.getAttribute("aria-expanded")).toBe("false");
    lineOf(root, "Scheduling").click();
    expect(visible(root)).toHaveLength(all.length + 2);
  });

  it("is one computation of several, with the rows of its stages inside", () => {
    const root = draw(GROUPED);
    expect(numbersOf(lineOf(root, "x.sum()"))).toEqual(["0.300", "30.0", "0.300"]);
    lineOf(root, "x.sum()").click();
    expect(visible(root)).toEqual(["x.sum()", "y.mean()", "Build", "Execution", "Unaccounted"]);
  });
});

describe("the table of stages", () => {
  it("says the computation of a row and the stage it is a part of", () => {
    view = mount(document.body, GROUPED, { view: "table" });
    const cells = (line: Element) => [...line.children].slice(0, 3).map((cell) => cell.textContent);
    const lines = [...document.body.querySelectorAll("thead tr, tbody tr")].map(cells);
    expect(lines.slice(0, 3)).toEqual([
      ["Stage", "Computation", "Part of"],
      ["Build", "x.sum()", ""],
      ["Order", "x.sum()", "Scheduling"],
    ]);
  });

  it("says neither where there is none", () => {
    view = mount(document.body, traceWith([ROWS[0] as Row]), { view: "table" });
    const heads = [...document.body.querySelectorAll("thead th")].map((cell) => cell.textContent);
    expect(heads.slice(0, 2)).toEqual(["Stage", "Lane"]);
  });
});

describe("the critical path", () => {
  it("is who owned the wall time when; the densest row where pieces were merged", () => {
    const rows = [
      row(0, 0, 100),
      row(1, 100, 700, { pieces: [[100, 900]] }),
      row(2, 200, 100, { pieces: [[200, 800]] }),
    ];
    expect(ownersOf(rows)).toEqual([
      { from_ns: 0, to_ns: 100, position: 0 },
      { from_ns: 100, to_ns: 1_000, position: 1 },
    ]);
  });

  it("hands over from line to line, not within one, and not for a moment", () => {
    const owned = ownersOf([...ROWS.slice(0, 4), row(0, 500, 1), row(4, 501, 400)]);
    const found = (lineAt: (position: number) => number, least: number) =>
      handovers(owned, lineAt, least).map(({ time_ns }) => time_ns);
    expect(found((position) => position, 0)).toEqual([100, 150, 350, 500, 501]);
    expect(found((position) => position, 2)).toEqual([100, 150, 350, 501]);
    expect(found((position) => (position > 0 && position < 4 ? 1 : position), 2)).toEqual([
      100, 501,
    ]);
  });

  it("never hands over so often that the bars are hidden", () => {
    const many = Array.from({ length: 400 }, (_, at) => row(at % 2, at * 2, 1 + (at % 7)));
    const all = ownersOf(many);
    expect(handovers(all, (position) => position, 0).length).toBeLessThanOrEqual(40);
  });

  it("is drawn below the bars, and the clock error from a pixel on", () => {
    const trace = traceWith(ROWS, OUTLINE, { lanes: [{ key: "scheduler", clock_error_ns: 50 }] });
    const boxes = new Map(
      [0, 1, 2, 3, 4].map((at) => [at, { left: 10, width: 100, top: at * 27 }]),
    );
    const paths = (doc: DrawnTrace) =>
      marksOf(doc, ownersOf(ROWS), boxes).map((node) => node.getAttribute("d") ?? "");
    const [down, under, errors] = paths(trace);
    expect(under?.startsWith("M10.0 23h10.0")).toBe(true);
    expect(down?.startsWith("M20.0 23V50")).toBe(true);
    expect(errors).toContain("M55 121H65");
    const [, , none] = paths(
      traceWith(ROWS, OUTLINE, { lanes: [{ key: "a", clock_error_ns: 5 }] }),
    );
    expect(none).toBe("");
  });
});

describe("the magnifier", () => {
  it("shows all of a row that takes a few pixels, else its longest piece if that is small", () => {
    expect(
      magnifiedRange(
        [
          [100, 10],
          [120, 10],
        ],
        10,
      ),
    ).toEqual({ from: 94, to: 136 });
    expect(
      magnifiedRange(
        [
          [0, 1],
          [900, 10],
        ],
        10,
      ),
    ).toEqual({ from: 898, to: 912 });
    expect(magnifiedRange([[0, 100]], 10)).toBeNull();
    expect(magnifiedRange([[5, 0]], 10)).toBeNull();
    expect(magnifiedRange([], 10)).toBeNull();
  });
});

describe("a row with a bar that cannot be seen", () => {
  it("shows it large while it has the pointer or the focus", () => {
    const root = draw(traceWith([row(0, 0, 1), row(4, 1, 900)]));
    const [small, large] = ["Build", "Execution"].map((title) => lineOf(root, title));
    for (const plot of root.querySelectorAll(".jsp-plot")) {
      Object.defineProperty(plot, "clientWidth", { value: 500 });
    }
    small?.dispatchEvent(new MouseEvent("mouseenter"));
    expect(small?.querySelector(".jsp-glass")?.textContent).toContain("magnified 243×");
    small?.dispatchEvent(new MouseEvent("mouseleave"));
    expect(root.querySelector(".jsp-glass")).toBeNull();
    large?.dispatchEvent(new FocusEvent("focusin"));
    expect(root.querySelector(".jsp-glass")).toBeNull();
  });

  it("stays as it is where that would lie over its numbers", () => {
    const small = lineOf(draw(traceWith([row(0, 0, 1), row(4, 1, 900)])), "Build");
    const plot = small?.querySelector(".jsp-plot") as Element;
    Object.defineProperty(plot, "clientWidth", { value: 280 });
    small?.dispatchEvent(new MouseEvent("mouseenter"));
    expect(plot.querySelector(".jsp-glass")).toBeNull();
  });
});

describe("tables of the document", () => {
  const TABLE = {
    key: "tasks",
    title: "Tasks by prefix",
    note: "Quartiles over all tasks.",
    columns: [
      { key: "prefix", title: "Prefix", unit: "text" },
      { key: "count", title: "tasks", unit: "count" },
      { key: "median_ns", title: "50 %", unit: "ns" },
      { key: "held_bytes", title: "holds", unit: "bytes" },
      { key: "part_ratio", title: "part", unit: "ratio" },
      { key: "fused", title: "fused", unit: "constructor" },
    ],
    rows: [
      ["sum", 4_225, 33_000, 8_000_000, 0.324, true],
      ["=mean", 7, null, 12, 1, null],
      ["short"],
    ],
  };

  it("have a view of their own and stand below the stages, in human units", () => {
    view = mount(document.body, traceWith(ROWS, OUTLINE, { tables: [TABLE] }), { view: "details" });
    const root = document.body.querySelector(".jsp-root") as HTMLElement;
    expect(root.querySelector("[aria-checked=true]")?.textContent).toBe("Details");
    expect(root.textContent).toContain("Tasks by prefix");
    const cells = [...root.querySelectorAll("tbody tr")].map((line) =>
      [...line.children].map((cell) => cell.textContent?.replaceAll("\u00a0", " ")),
    );
    expect(cells).toEqual([
      ["sum", "4,225", "33.0 µs", "8.00 MB", "32.4 %", "yes"],
      ["=mean", "7", "n/a", "12 B", "100.0 %", "–"],
      ["short", "n/a", "n/a", "n/a", "n/a", "–"],
    ]);
    expect(root.textContent).toContain("Quartiles over all tasks.");
    const radios = root.querySelectorAll<HTMLElement>(".jsp-switch [role=radio]");
    [...radios].find((radio) => radio.textContent === "Table")?.click();
    expect(root.querySelectorAll(".jsp-grid-table")).toHaveLength(2);
  });

  it("are sorted by value and copied with keys that name the unit", async () => {
    const copied: string[] = [];
    const copy = (text: string) => void copied.push(text);
    const doc = traceWith(ROWS, OUTLINE, { tables: [TABLE, { ...TABLE, title: "More" }] });
    view = mount(document.body, doc, { view: "details", copy });
    const root = document.body.querySelector(".jsp-root") as HTMLElement;
    expect(root.querySelector("[aria-checked=true]")?.textContent).toBe("Details");
    const sort = [...root.querySelectorAll<HTMLElement>(".jsp-sort")];
    sort.find((button) => button.textContent === "holds")?.click();
    const names = [...root.querySelectorAll(".jsp-own-table")][0]?.querySelectorAll("tbody th");
    expect([...(names ?? [])].map((cell) => cell.textContent)).toEqual(["sum", "=mean", "short"]);
    root.querySelectorAll<HTMLElement>(".jsp-tools button")[1]?.click();
    expect(copied[0]?.split("\r\n")[0]).toBe("prefix,count,median_ns,held_bytes,part_ratio,fused");
    expect(copied[0]).toContain("'=mean,7,,12,1,");
  });
});
