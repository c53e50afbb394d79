import { afterEach, describe, expect, it } from "vitest";
import type { SweepDocument } from "../src/document/document";
import type { View } from "../src/document/host";
import { type Chart, chartOf } from "../src/sweep/chart";
import { mount } from "./every";
import { sampleSweep, told } from "./sample";
import { soon } from "./soon";

const SIZES = [1_000, 10_000, 100_000, 1_000_000];
const FIT = { variant: "ray", stage: null, cold: false, fixed_ns: 500, ns_per_byte: 1 };
const LOW = { ...FIT, from_bytes: 1_000, to_bytes: 10_000 };
const HIGH = {
  ...FIT,
  from_bytes: 100_000,
  to_bytes: 1_000_000,
  ns_per_byte: 8,
  low: 7.5,
  high: 8.5,
  cause: "fresh pages from here on",
};

function sweepWith(more: object): SweepDocument {
  const doc = sampleSweep();
  const [point] = doc.points;
  const points = SIZES.map((size_bytes) => ({
    ...(point as NonNullable<typeof point>),
    size_bytes,
    cold: false,
    wall_ns: size_bytes * 2,
    stages: { "ray.store": size_bytes },
  }));
  return told({ ...doc, points, ...more });
}

let view: View | null = null;

afterEach(() => {
  view?.destroy();
  view = null;
  document.body.replaceChildren();
});

function draw(more: object): HTMLElement {
  view = mount(document.body, sweepWith(more), { view: "sweep" });
  return document.body.querySelector(".jsp-root") as HTMLElement;
}

/** The laws, once their fold is open. */
async function lawsOf(more: object): Promise<Element[]> {
  const fold = draw(more).querySelector<HTMLDetailsElement>(".jsp-sizes > .jsp-more");
  (fold as HTMLDetailsElement).open = true;
  await soon(() => expect(fold?.querySelector(".jsp-fit-text")).not.toBeNull());
  return [...(fold?.querySelectorAll(".jsp-fit-text") ?? [])];
}

function texts(root: Element): string[] {
  const found = [...root.querySelectorAll("svg text")];
  return found.map((node) => String(node.textContent).replaceAll("\u00a0", " "));
}

describe("the chart of a sweep", () => {
  it("goes through all sizes while there is one piece, and breaks between two", () => {
    expect(draw({ fits: [LOW] }).querySelectorAll(".jsp-series")).toHaveLength(1);
    view?.destroy();
    const root = draw({ fits: [LOW, HIGH] });
    expect(root.querySelectorAll(".jsp-series")).toHaveLength(2);
  });

  it("says the lines in words in a fold, with their interval", async () => {
    const said = await lawsOf({ fits: [LOW, HIGH] });
    expect(said.map((node) => node.textContent?.replaceAll("\u00a0", " "))).toEqual([
      "Ray, 1.00 kB to 10.0 kB: 500 ns + 1.00 GB/s",
      "Ray, 100 kB to 1.00 MB (fresh pages from here on): 500 ns + 125 MB/s [118 MB/s, 133 MB/s]",
    ]);
  });

  it("breaks where nothing can be told, as the text says, and draws no line there", async () => {
    const head = { variant: "ray", stage: null, cold: false, growth: "cannot tell" };
    const next = { ...head, from_bytes: 100_000, to_bytes: 1_000_000, cause: "too few sizes" };
    const root = draw({ fits: [LOW, next] });
    expect(root.querySelectorAll(".jsp-series")).toHaveLength(2);
    expect(root.querySelectorAll(".jsp-fit")).toHaveLength(1);
    view?.destroy();
    const [, said] = await lawsOf({ fits: [LOW, next] });
    expect(said?.textContent?.replaceAll("\u00a0", " ")).toBe(
      "Ray, 100 kB to 1.00 MB (too few sizes): cannot tell",
    );
  });

  it("gives no rate to what is flat", async () => {
    const flat = { ...LOW, growth: "constant", ns_per_byte: 1e-4 };
    const [said] = await lawsOf({ fits: [flat] });
    expect(said?.textContent?.replaceAll("\u00a0", " ")).toBe(
      "Ray, 1.00 kB to 10.0 kB: 500 ns at every size",
    );
  });

  it("tells no time below zero: such a line is told by its rate", async () => {
    const steep = { ...LOW, fixed_ns: -338, ns_per_byte: 1 };
    const [said] = await lawsOf({ fits: [steep] });
    expect(said?.textContent?.replaceAll("\u00a0", " ")).toBe("Ray, 1.00 kB to 10.0 kB: 1.00 GB/s");
  });

  it("names the sizes between which one line overtakes another", () => {
    const crossovers = [{ title: "Ray overtakes", cold: false, from_bytes: 1e4, to_bytes: 1e5 }];
    expect(texts(draw({ crossovers }))).toContain("10.0 kB to 100 kB");
  });

  it("says beside what hands the same memory back that it is no choice", () => {
    const facts = { unranked: "gave the same memory back" };
    const variants = sampleSweep().variants.map((one) => ({ ...one, facts }));
    const root = draw({ variants });
    expect(texts(root)).toContain("not comparedRay");
    expect(root.querySelector(".jsp-line-name")?.textContent).toBe("Ray, not compared");
    expect(root.querySelector(".jsp-at-block")?.textContent).toContain("Ray not compared");
    view?.destroy();
    expect(texts(draw({})).join()).not.toContain("not compared");
  });

  it("names them near the place where the lines turn, not where most room is", () => {
    const { lines, ...chart } = chartNamed("Ray");
    const [ray] = lines as [Chart["lines"][0]];
    const turned = ray.points.map((point, at) => ({ ...point, median_ns: 4e9 - 2e9 * (at % 2) }));
    const low = { ...ray, title: "low", points: ray.points.slice(0, 1) };
    const pair = [{ ...ray, points: turned }, { ...ray, title: "Dask", points: turned }, low];
    const turn = { cold: false, from_bytes: SIZES[1] ?? 0, to_bytes: SIZES[2] ?? 0 };
    const crossovers = [{ ...turn, title: "Ray overtakes Dask", faster: "a", slower: "b" }];
    const svg = chartOf({ ...chart, lines: pair, crossovers }, 700);
    const note = Number(svg.querySelector(".jsp-series-note")?.getAttribute("y"));
    expect(note).toBeLessThan(200);
  });

  it("names them there although a long name has lines above and below it", () => {
    const { lines, ...chart } = chartNamed("Ray");
    const [ray] = lines as [Chart["lines"][0]];
    const many = Array.from({ length: 12 }, (_, at) => {
      const ns = 10 ** (at < 11 ? at / 2 : 6.5);
      const times = { median_ns: ns, low_ns: ns, high_ns: ns };
      const own = ray.points.map((point) => ({ ...point, ...times }));
      return { ...ray, title: `way ${at} with a long name, of a table of rows`, points: own };
    });
    const title = `${many[5]?.title} overtakes ${many[4]?.title}`;
    const turn = { cold: false, from_bytes: SIZES[1] ?? 0, to_bytes: SIZES[2] ?? 0 };
    const crossovers = [{ ...turn, title, faster: "a", slower: "b" }];
    const svg = chartOf({ ...chart, lines: many, crossovers }, 700);
    const notes = [...svg.querySelectorAll(".jsp-series-note")];
    const y = Number(notes[0]?.getAttribute("y"));
    expect([y > 200, y < 280]).toEqual([true, true]);
    expect(
      notes
        .map((note) => note.textContent)
        .slice(0, -1)
        .join(" "),
    ).toBe(title);
  });

  it("opens at a size that was measured as it is drawn", () => {
    const { points } = sweepWith({});
    const cold = points.slice(1).map((point) => ({ ...point, cold: true }));
    const root = draw({ points: [...points.slice(0, 1), ...cold] });
    expect(root.querySelector(".jsp-at-title strong")?.textContent).toBe("at 1.00\u00a0kB");
  });

  it("gives each of eight transports its own colour, and known ones theirs, with their mark", () => {
    const { points, variants } = sweepWith({});
    const keys = Array.from({ length: 8 }, (_, at) => `way${at}`);
    const root = draw({
      variants: keys.map((key) => ({ ...variants[0], key, title: key, facts: {} })),
      points: keys.flatMap((variant) => points.map((point) => ({ ...point, variant }))),
    });
    const samples = [...root.querySelectorAll<SVGElement>(".jsp-legend svg")];
    expect(new Set(samples.map((sample) => sample.style.color)).size).toBe(8);
    expect(samples.map((sample) => sample.style.color)).not.toContain("var(--jsp-ink)");
    draw({});
    const own = [...document.querySelectorAll<SVGElement>(".jsp-legend svg")];
    expect(own.at(-1)?.style.color).toBe("var(--jsp-way-ray)");
    // A diamond, wherever it stands.
    expect(own.at(-1)?.innerHTML).toContain("l5.5 5.5l-5.5 5.5");
  });

  it("marks the last crossover of each pair of the runs that it draws", () => {
    const { points, variants } = sweepWith({});
    const [one] = variants;
    const keys = ["ray", "pickle"];
    const doc = {
      variants: keys.map((key) => ({ ...one, key, title: key, facts: {} })),
      points: keys.flatMap((variant) => points.map((point) => ({ ...point, variant }))),
    };
    const turn = { cold: false, from_bytes: 1e4, to_bytes: 1e5, faster: "ray", slower: "pickle" };
    const crossovers = [
      { ...turn, title: "ray overtakes pickle" },
      { ...turn, title: "pickle overtakes ray", faster: "pickle", slower: "ray" },
      { ...turn, title: "cold overtakes", cold: true },
    ];
    const root = draw({ ...doc, crossovers });
    expect(texts(root).filter((text) => text.includes("overtakes"))).toEqual([
      "pickle overtakes ray",
    ]);
    const lines = [...root.querySelectorAll<SVGElement>(".jsp-chart > g")];
    expect(new Set(lines.map((line) => line.style.color)).size).toBe(2);
  });

  it("draws a remedy that was tried as an outline", () => {
    const doc = sweepWith({});
    const variants = doc.variants.map((each) => ({ ...each, facts: { tried: true } }));
    expect(draw({ variants }).querySelectorAll(".jsp-ghost")).toHaveLength(1);
    view?.destroy();
    expect(draw({}).querySelector(".jsp-ghost")).toBeNull();
  });

  it("leaves the names of the lines to the legend where there is no room", () => {
    const chart = chartNamed("Ray");
    expect(chartOf(chart, 700).querySelectorAll(".jsp-series-label")).toHaveLength(1);
    const narrow = chartOf(chart, 200);
    expect(narrow.querySelectorAll(".jsp-series-label")).toHaveLength(0);
    const wide = chartOf(chart, 700).querySelectorAll(".jsp-tick-text").length;
    expect(narrow.querySelectorAll(".jsp-tick-text").length).toBeLessThan(wide);
  });

  it("writes a long name in two lines, and names both axes", () => {
    const names = (title: string): string[] =>
      [...chartOf(chartNamed(title), 700).querySelectorAll(".jsp-series-label")].map(
        (label) => label.firstChild?.textContent ?? "",
      );
    expect(names("pickle in-band")).toEqual(["pickle in-band"]);
    expect(names("client.scatter + gather")).toEqual(["client.scatter +", "gather"]);
    expect(names("aVeryLongNameWithoutAnySpace")).toEqual(["aVeryLongNameWit…"]);
    expect(chartOf(chartNamed("Ray"), 700).textContent).toContain("median time");
  });
});

function chartNamed(title: string): Chart {
  const times = { median_ns: 5, low_ns: 4, high_ns: 6, count: 7 };
  const points = SIZES.map((size_bytes) => ({ size_bytes, ...times }));
  const line = { title, family: "store", marker: "circle", points, fits: [], wire: [] } as const;
  const more = { axis: "size", band: null, sizeText: String, label: "" };
  return { lines: [line], crossovers: [], selected_bytes: 1_000, ...more };
}
