import { afterEach, describe, expect, it } from "vitest";
import type { SweepDocument } from "../src/document/document";
import { bytes } from "../src/document/format";
import type { View } from "../src/document/host";
import { compressionWins, LINKS, type Ride, ranked, reigns } from "../src/sweep/link";
import { mount } from "./every";
import { sampleSweep, told } from "./sample";

const PLAIN: Ride = {
  title: "plain",
  wall_ns: 1e6,
  moved_bytes: 1e6,
  isCompressed: false,
  isAlias: false,
};
const SMALL: Ride = {
  title: "zstd",
  wall_ns: 9e6,
  moved_bytes: 2e5,
  isCompressed: true,
  isAlias: false,
};
const SILLY: Ride = {
  title: "silly",
  wall_ns: 9e7,
  moved_bytes: 9e6,
  isCompressed: false,
  isAlias: false,
};
const UNKNOWN: Ride = {
  title: "ray",
  wall_ns: 1,
  moved_bytes: null,
  isCompressed: false,
  isAlias: false,
};
const ALL = [PLAIN, UNKNOWN, SILLY, SMALL];

describe("who arrives first", () => {
  it("is the one with the least of time and bytes over bandwidth; unknown bytes take no part", () => {
    expect(ranked(ALL, 1e6).map((ride) => ride.title)).toEqual(["zstd", "plain", "silly"]);
    expect(ranked(ALL, 1e10).map((ride) => ride.title)).toEqual(["plain", "zstd", "silly"]);
  });

  it("changes at the bandwidth where both are as fast", () => {
    // 800 kB fewer cost 8 ms more.
    const [slow, fast, ...none] = reigns(ALL);
    expect(slow).toEqual({ ride: SMALL, to_bytes_per_s: 1e8 });
    expect(fast).toEqual({ ride: PLAIN, to_bytes_per_s: Number.POSITIVE_INFINITY });
    expect(none).toEqual([]);
    expect(compressionWins(reigns(ALL))).toBe(1e8);
    expect(compressionWins(reigns([PLAIN, SILLY]))).toBeNull();
    expect(reigns([UNKNOWN])).toEqual([]);
  });

  it("is asked of links from 10 Mbit/s to 100 Gbit/s", () => {
    expect([(LINKS[0] as number) * 8, (LINKS.at(-1) as number) * 8]).toEqual([1e7, 1e11]);
  });
});

let view: View | null = null;

afterEach(() => {
  view?.destroy();
  view = null;
  document.body.replaceChildren();
});

const SIZES = [1_000_000, 10_000_000, 100_000_000];

function sweep(more: object, moved: (size: number) => number | null): SweepDocument {
  const doc = sampleSweep();
  const point = doc.points[0] as SweepDocument["points"][0];
  const points = SIZES.map((size_bytes) => ({
    ...point,
    variant: "ray",
    size_bytes,
    cold: false,
    wall_ns: size_bytes,
    moved_bytes: moved(size_bytes),
    parameter: size_bytes / 8,
    stages: { "ray.store": size_bytes / 2 },
  }));
  return told({ ...doc, parameter: "n", points, ...more });
}

function draw(doc: SweepDocument): HTMLElement {
  view = mount(document.body, doc, { view: "sweep" });
  return document.body.querySelector(".jsp-root") as HTMLElement;
}

function slide(root: HTMLElement, value: string): void {
  const input = root.querySelector<HTMLInputElement>(".jsp-link-row input") as HTMLInputElement;
  input.value = value;
  input.dispatchEvent(new Event("input"));
}

describe("the network slider", () => {
  it("adds the wire to line, bar and words, marked as predicted", () => {
    const root = draw(sweep({}, (size) => size));
    expect(root.querySelector(".jsp-wire")).toBeNull();
    slide(root, "7");
    const input = root.querySelector(".jsp-link-row input");
    expect(input?.getAttribute("aria-valuetext")).toBe("1\u00a0Gbit/s");
    expect(root.querySelectorAll(".jsp-wire-line")).toHaveLength(1);
    expect(root.querySelector(".jsp-at-bar .jsp-wire")?.textContent).toContain("predicted");
    // 100 MB at 125 MB/s, and the 100 ms that were measured; sizes step to the third.
    const words = root.querySelector(".jsp-link-words")?.textContent?.replaceAll("\u00a0", " ");
    expect(words).toContain("over 1 Gbit/s");
    expect(words).toContain("would arrive first");
    slide(root, "0");
    expect(root.querySelector(".jsp-link-words")?.textContent).toBe("");
    expect(root.querySelector(".jsp-wire")).toBeNull();
  });

  it("is not there where no bytes were counted, and says n/a where some were not", () => {
    expect(draw(sweep({}, () => null)).querySelector(".jsp-link-row")).toBeNull();
    view?.destroy();
    const root = draw(sweep({}, (size) => (size === SIZES[2] ? null : size)));
    const sizes = [...root.querySelectorAll<HTMLInputElement>(".jsp-slider")].at(-1);
    if (sizes) {
      sizes.value = "2";
      sizes.dispatchEvent(new Event("input"));
    }
    slide(root, "7");
    expect(root.textContent).toContain("network n/a");
    expect(root.querySelector(".jsp-link-words")?.textContent).toContain("n/a: ");
    view?.destroy();
    const still = draw(sweep({}, (size) => (size === SIZES[1] ? 0 : size)));
    slide(still, "7");
    const size = [...still.querySelectorAll<HTMLInputElement>(".jsp-slider")].at(-1);
    if (size) {
      size.value = "1";
      size.dispatchEvent(new Event("input"));
    }
    expect(still.textContent).toContain("network n/a");
  });

  it("says that what hands the same memory over pays no new memory behind the link", () => {
    const doc = sweep({}, (size) => size);
    const result = "aliases the original";
    for (const [facts, isSaid] of [
      [{ facts: { is_alias: true } }, true],
      [{ result, facts: { is_alias: false } }, false],
    ] as const) {
      const variants = doc.variants.map((each) => ({ ...each, ...facts }));
      const root = draw({ ...doc, variants });
      slide(root, "7");
      const said = root.querySelector(".jsp-link-words")?.textContent ?? "";
      expect(said.includes("new memory")).toBe(isSaid);
      view?.destroy();
    }
  });

  it("keeps its keys from the notebook", () => {
    const root = draw(sweep({}, (size) => size));
    let heard = 0;
    root.addEventListener("keydown", () => {
      heard += 1;
    });
    root
      .querySelector(".jsp-link-row input")
      ?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    expect(heard).toBe(0);
  });
});

describe("a sweep over chunk sizes", () => {
  const best = {
    size_bytes: 10_000_000,
    low_bytes: 5_000_000,
    high_bytes: 20_000_000,
    parameter: 800,
    below: "ray.store",
    above: "Transfer",
  };
  const chunks = { kind: "chunks", parameter: "chunk", best };

  it("shows the best size as a band, and what limits on either side", () => {
    const root = draw(sweep(chunks, () => null));
    const texts = [...root.querySelectorAll("svg text")].map((node) =>
      String(node.textContent).replaceAll("\u00a0", " "),
    );
    expect(root.querySelectorAll(".jsp-best-band")).toHaveLength(1);
    expect(texts).toContain("best 10.0 MB (chunk = 800)");
    expect(texts).toContain("◂ limited by Store");
    expect(texts).toContain("limited by Transfer ▸");
    expect(texts).toContain("chunk size (chunk)");
  });

  it("has no link: the bytes of its graph are not those that cross it", () => {
    expect(draw(sweep(chunks, (size) => size)).querySelector(".jsp-link-row")).toBeNull();
  });

  it("leaves stages out that are nearly nothing at every size, and says so", () => {
    const doc = sweep(chunks, () => null);
    const points = (doc.points ?? []).map((point, at) => ({
      ...point,
      stages: {
        "ray.store": point.wall_ns / 2,
        "ray.msgpack": point.wall_ns / 40,
        "ray.pickle": point.wall_ns / (at === 0 ? 10 : 40),
      },
    }));
    const legend = draw(told({ ...doc, points })).querySelector(".jsp-legend")?.textContent ?? "";
    const titles = ["Store", "Look at each element", "Pickle by Ray"];
    expect(titles.map((title) => legend.includes(title))).toEqual([true, false, true]);
    expect(legend).toContain("1 stage below 5\u00a0% at every size: see Table");
  });

  it("begins with the stages of its one variant and the U of the whole", () => {
    const doc = sweep(chunks, () => null);
    const root = draw({ ...doc, variants: doc.variants.filter(({ key }) => key === "ray") });
    expect(root.querySelector(".jsp-controls [aria-checked=true]")?.textContent).toContain(
      "Stages",
    );
    expect(root.querySelector(".jsp-legend")?.textContent).toContain("Wall time");
  });

  it("opens at the best size, with what is below one percent as one term", () => {
    const doc = sweep(chunks, () => null);
    const small = { "ray.submit": 1, "ray.wait": 2 };
    const points = doc.points.map((each) => ({ ...each, stages: { ...each.stages, ...small } }));
    const size_bytes = Math.min(...points.map((each) => each.size_bytes ?? 0));
    const best = { size_bytes, low_bytes: size_bytes, high_bytes: size_bytes };
    const ways = doc.variants.filter(({ key }) => key === "ray");
    const root = draw({ ...doc, points, best, variants: ways } as typeof doc);
    expect(root.querySelector(".jsp-at-title")?.textContent).toContain(bytes(size_bytes));
    expect(root.querySelector(".jsp-at-size .jsp-sum")?.textContent).toContain("2 more stages");
  });

  it("names the parameter beside the size: slider, heading, mark, table", () => {
    const doc = sweep(chunks, () => null);
    const root = draw(doc);
    const slider = [...root.querySelectorAll(".jsp-slider")].at(-1);
    expect(slider?.getAttribute("aria-valuetext")).toContain("chunk = 1,250,000");
    expect(root.querySelector(".jsp-at-title")?.textContent).toContain("chunk = ");
    expect(root.querySelector(".jsp-mark title")?.textContent).toContain("chunk = ");
    view?.destroy();
    view = mount(document.body, doc, { view: "table" });
    const heads = [...document.body.querySelectorAll("thead th")].map((th) => th.textContent);
    expect(heads).toContain("chunk");
  });
});
