import { afterEach, describe, expect, it } from "vitest";
import { axisOf, groupsOf, placeOf } from "../src/compare/changes";
import { intervalText, verdictText } from "../src/compare/view";
import type { Change, Comparison, Finding } from "../src/document/document";
import { link } from "../src/document/format";
import type { View } from "../src/document/host";
import { measuredOf } from "../src/frame/measured";
import { mountWith } from "../src/frame/place";
import { ANATOMY, SWEEP, TRACE } from "../src/frame/registry";
import { mount } from "./every";
import { sampleSweep, sampleTrace } from "./sample";
import { soon } from "./soon";

const WALL: Change = {
  stage: "",
  title: "Wall time",
  before_ns: 71_300_000,
  after_ns: 33_900_000,
  verdict: "faster",
  ratio: 0.475,
  low: 0.455,
  high: 0.497,
};
const COMPARISON: Comparison = {
  before: "monday",
  after: "now",
  noise_share: 0.018,
  method: "15 alternated pairs",
  notes: ["imports are left out"],
  changes: [
    WALL,
    { ...WALL, stage: "ray.store", title: "Store", verdict: "slower", ratio: 2, low: 1.5, high: 3 },
    {
      stage: "gc",
      title: "Garbage collection",
      before_ns: 5,
      after_ns: null,
      verdict: "only before",
    },
    {
      ...WALL,
      stage: "x",
      title: "x",
      verdict: "cannot tell",
      ratio: 1.01,
      low: 0.9,
      high: 1.1,
      reason: "too few pairs",
    },
  ],
};

let view: View | null = null;

afterEach(() => {
  view?.destroy();
  view = null;
  document.body.replaceChildren();
});

function draw(doc: unknown, name = ""): HTMLElement {
  view = mount(document.body, doc, { view: name });
  return document.body.querySelector(".jsp-root") as HTMLElement;
}

describe("the axis of ratios", () => {
  it("has 1 in the middle, and twice as far from it as half", () => {
    const axis = axisOf(COMPARISON);
    expect(placeOf(1, axis)).toBeCloseTo(0.5, 9);
    expect(placeOf(2, axis) - 0.5).toBeCloseTo(0.5 - placeOf(0.5, axis), 9);
    expect(axis.to).toBeGreaterThan(3);
    expect(axis.ticks).toContain(1);
  });

  it("has an end, whatever the numbers are", () => {
    const wild = { ...COMPARISON, changes: [{ ...WALL, ratio: 1e30, low: -1, high: Number.NaN }] };
    expect(axisOf(wild).to).toBe(1_000);
    expect(axisOf({ before: "a", after: "b" }).to).toBe(1.25);
  });
});

describe("a comparison in a document", () => {
  it("is the first view, with verdicts in words and signs", () => {
    const root = draw({ ...sampleTrace(), comparison: COMPARISON });
    expect(root.querySelector(".jsp-switch [aria-checked=true]")?.textContent).toBe("Compare");
    const verdicts = [...root.querySelectorAll(".jsp-verdict-text")].map((td) => td.textContent);
    expect(verdicts).toEqual([
      "▼ 2.11× faster",
      "▲ 2.00× slower",
      "− only before",
      "≈ cannot tell",
    ]);
    expect(root.querySelectorAll(".jsp-interval")).toHaveLength(3);
    expect(root.querySelectorAll("tbody .jsp-noise")).toHaveLength(4);
    expect(root.textContent).toContain("too few pairs");
    expect(root.textContent).toContain("imports are left out");
    expect(root.querySelector(".jsp-changes thead")?.textContent).toContain("of all runs");
  });

  it("prints ratio and interval, and nothing where there is none", () => {
    expect(intervalText(WALL)).toBe("0.47× [0.46–0.50]");
    expect(intervalText({ ...WALL, ratio: null })).toBe("–");
    expect(intervalText({ ...WALL, ratio: 0.00413, low: 0.0199, high: 0.0996 })).toBe(
      "0.0041× [0.020–0.10]",
    );
    expect(verdictText({ ...WALL, ratio: null })).toBe("▼ faster");
  });

  it("of a sweep stands in groups of variant, size and temperature", () => {
    const changes = [
      { ...WALL, variant: "ray", size_bytes: 8, cold: false },
      { ...WALL, variant: "ray", size_bytes: 8, cold: false, stage: "s" },
      { ...WALL, variant: "ray", size_bytes: 9, cold: true },
    ];
    expect(groupsOf({ ...COMPARISON, changes }).map((group) => group.length)).toEqual([2, 1]);
    const root = draw({ ...sampleSweep(), comparison: { ...COMPARISON, changes } });
    expect(root.querySelector(".jsp-block-group")?.textContent).toBe("ray, 8\u00a0B, warm");
  });

  it("shows warm runs first, cold ones in a fold, and what took little in one row", async () => {
    const times = (stage: string, before_ns: number, cold: boolean): Change => ({
      ...WALL,
      stage,
      title: stage || "Wall time",
      before_ns,
      after_ns: before_ns,
      cold,
      is_small: before_ns < 10_000,
    });
    const runs = (cold: boolean) => [
      times("", 1_000_000, cold),
      times("a", 992_000, cold),
      times("b", 5_000, cold),
      times("c", 3_000, cold),
    ];
    const changes = [...runs(true), ...runs(false)];
    const root = draw({ ...sampleSweep(), comparison: { ...COMPARISON, changes } });
    const heads = [...root.querySelectorAll(".jsp-changes tbody th")].map(
      (th) => [...th.childNodes].find((node) => node.nodeType === Node.TEXT_NODE)?.textContent,
    );
    expect(heads).toEqual(["warm", "Wall time", "a", "2 more stages"]);
    const more = [...root.querySelectorAll(".jsp-changes tbody tr")].at(-1);
    expect(more?.textContent).toContain("0.008\u00a0ms");
    expect(more?.querySelector(".jsp-verdict-text")?.textContent?.trim()).toBe("");
    const fold = root.querySelector<HTMLDetailsElement>(".jsp-compared > .jsp-more");
    (fold as HTMLDetailsElement).open = true;
    await soon(() => expect(fold?.querySelectorAll("tbody tr")).toHaveLength(4));
  });

  it("says a reason once, noise only where it was measured, and how in a fold", async () => {
    const doubt = { ...WALL, verdict: "cannot tell", reason: "1 run before and 1 after are few" };
    const told = ["", "a", "b", "c"].map((stage) => ({ ...doubt, stage, cold: false }));
    const once = { ...doubt, cold: true, low: null, high: null, before_runs: 1 };
    const changes = [...told, { ...WALL, stage: "d", cold: false }, once, { ...once, stage: "a" }];
    const root = draw({
      ...sampleSweep(),
      comparison: { ...COMPARISON, changes, noise_share: null, method: "By ranks" },
    });
    expect([...root.querySelectorAll(".jsp-reason")].map((node) => node.textContent)).toEqual([
      doubt.reason,
    ]);
    expect(root.querySelector(".jsp-legend")?.textContent).not.toContain("noise");
    const folds = [...root.querySelectorAll<HTMLDetailsElement>(".jsp-compared > .jsp-more")];
    expect(folds.map((fold) => fold.textContent?.includes("By ranks"))).not.toContain(true);
    for (const fold of folds) {
      fold.open = true;
    }
    await soon(() => expect(folds[1]?.textContent).toBe("How they were comparedBy ranks"));
    expect(folds[0]?.querySelectorAll("tbody td:last-child")).toHaveLength(1);
  });

  it("has times that add up in the unit of the wall time, and says what its ratios are of", () => {
    const times = (stage: string, before_ns: number, after_ns: number | null): Change => ({
      ...WALL,
      stage,
      before_ns,
      after_ns,
    });
    const changes = [times("", 9_502_400, 990_000), times("a", 9_500_200, 990_000)];
    const paired = [...changes, times("b", 2_200, null)];
    const root = draw({
      ...sampleTrace(),
      comparison: { ...COMPARISON, changes: paired, is_paired: true },
    });
    const rows = [...root.querySelectorAll(".jsp-changes tbody tr")];
    const cells = rows.map((row) => [...row.querySelectorAll("td")].map((td) => td.textContent));
    expect(cells.map((row) => row.slice(0, 2))).toEqual([
      ["9.50\u00a0ms", "990\u00a0µs"],
      ["9.500\u00a0ms", "990.0\u00a0µs"],
      ["0.002\u00a0ms", "–"],
    ]);
    expect(root.querySelector(".jsp-changes thead")?.textContent).toContain("of the pairs");
    expect(root.querySelectorAll(".jsp-noise")).toHaveLength(0);
  });

  it("of the wrong kind is no view", () => {
    const root = draw({ ...sampleTrace(), comparison: { changes: [3] } });
    expect(root.querySelector(".jsp-switch")?.textContent).not.toContain("Compare");
  });
});

const FINDING: Finding = {
  rule: "ray.inline",
  severity: "warn",
  title: "out-of-band",
  evidence: {},
  remedy: "x",
  gain: 3.2,
  measured: {
    stage: "ray.store",
    before_ns: 64_000_000,
    after_ns: 16_000_000,
    low: 2.9,
    high: 3.5,
    pairs: 15,
    equal: true,
  },
};

describe("a remedy that was measured", () => {
  it("says how much, how sure, of how many pairs, and whether the result is equal", () => {
    expect(measuredOf(FINDING)?.text).toBe("measured: 3.2× [2.9–3.5], 15 pairs, equal result");
    const doubtful = { ...FINDING.measured, low: 0.9, equal: false };
    expect(measuredOf({ ...FINDING, measured: doubtful })?.text).toContain(
      "cannot tell, 15 pairs, a different result",
    );
    expect(measuredOf({ ...FINDING, measured: null })).toBeNull();
  });

  it("is an outline right below its stage, as long as it took", () => {
    const root = draw({ ...sampleTrace(), findings: [FINDING] }, "waterfall");
    const ghost = root.querySelector(".jsp-ghost .jsp-bar") as HTMLElement;
    const above = ghost.closest("tr")?.previousElementSibling;
    expect(above?.querySelector("th")?.textContent).toBe("Store");
    expect(Number.parseFloat(ghost.style.width)).toBeCloseTo((100 * 16) / 71.3, 1);
    expect(ghost.closest("tr")?.textContent).toContain("(16.00)");
    expect(root.querySelector(".jsp-finding")?.textContent).toContain("measured: 3.2×");
  });

  it("of a stage that is not there stands below the wall time", () => {
    const measured = { ...FINDING.measured, stage: "" };
    const root = draw({ ...sampleTrace(), findings: [{ ...FINDING, measured }] }, "waterfall");
    expect(root.querySelector("tfoot .jsp-ghost")).not.toBeNull();
  });
});

describe("a link", () => {
  it("is told in bits, as its makers do", () => {
    expect([1.25e6, 1.25e8, 3.125e8, 1.25e9].map(link)).toEqual(
      ["10 Mbit/s", "1 Gbit/s", "2.5 Gbit/s", "10 Gbit/s"].map((text) =>
        text.replace(" ", "\u00a0"),
      ),
    );
  });
});

describe("a bundle", () => {
  const viewsIn = (views: typeof TRACE, doc: unknown): (string | null)[] => {
    view = mountWith(views)(document.body, doc);
    const found = [...document.body.querySelectorAll(".jsp-switch [role=radio]")];
    const titles = found.map((node) => node.firstChild?.textContent ?? null);
    view.destroy();
    view = null;
    return titles;
  };

  it("shows of a document of another kind what it can", () => {
    expect(viewsIn(TRACE, sampleSweep())).toEqual(["Table"]);
    expect(viewsIn(SWEEP, sampleTrace())).toEqual(["Waterfall", "Table", "Details", "Findings"]);
    expect(viewsIn(ANATOMY, sampleTrace())).toEqual(["Waterfall", "Table", "Details", "Findings"]);
  });
});
