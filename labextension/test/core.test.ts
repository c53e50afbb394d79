import { describe, expect, it } from "vitest";
import { labelFor, shortened } from "../src/kit/canvas";
import { fileName } from "../src/kit/clip";
import { csv, type GridColumn, markdown, sortedRows } from "../src/kit/grid";
import { actionOf } from "../src/kit/keys";
import {
  around,
  decades,
  logShare,
  logTicks,
  panned,
  ticksBetween,
  within,
  zoomed,
} from "../src/kit/scale";
import { breaksOf, crossoversOf, fitsOf, seriesOf, sizesOf } from "../src/sweep/series";
import { sampleSweep } from "./sample";

const LIMITS = { from: -100, to: 10_000 };

describe("the visible range", () => {
  it("stays within the limits and never vanishes", () => {
    expect(within({ from: -500, to: 500 }, LIMITS)).toEqual({ from: -100, to: 900 });
    expect(within({ from: 0, to: 99_999 }, LIMITS)).toEqual(LIMITS);
    expect(within({ from: 50, to: 50 }, LIMITS).to).toBe(70);
  });

  it("keeps the place of the pointer when it zooms", () => {
    const range = zoomed({ from: 0, to: 1_000 }, LIMITS, 250, 0.5);
    expect(range).toEqual({ from: 125, to: 625 });
  });

  it("pans by a share and stops at the end", () => {
    expect(panned({ from: 0, to: 100 }, LIMITS, 0.5)).toEqual({ from: 50, to: 150 });
    expect(panned({ from: 9_900, to: 10_000 }, LIMITS, 0.5)).toEqual({ from: 9_900, to: 10_000 });
  });

  it("shows a span with room around it, even one without length", () => {
    expect(around({ from: 100, to: 200 }, LIMITS)).toEqual({ from: 90, to: 210 });
    expect(around({ from: 100, to: 100 }, LIMITS)).toEqual({ from: 90, to: 110 });
  });
});

describe("axes", () => {
  it("have round ticks that need not begin at 0", () => {
    expect(ticksBetween(-30, 110, 4)).toEqual([0, 50, 100]);
    expect(ticksBetween(626.1, 628, 4)).toEqual([626.5, 627, 627.5, 628]);
    expect(ticksBetween(5, 5, 4)).toEqual([]);
  });

  it("never have more ticks than there is room for", () => {
    for (const most of [1, 2, 3, 4, 7]) {
      for (const end of [0.3, 1, 2.4, 99, 100, 1_840, 71_300_000]) {
        expect(ticksBetween(0, end, most).length).toBeLessThanOrEqual(Math.max(2, most));
      }
    }
    expect(ticksBetween(0, Number.POSITIVE_INFINITY, 4)).toEqual([]);
  });

  it("go from the smallest to the largest when logarithmic, also without values", () => {
    const { from, to } = decades([12_000, 3e8]);
    expect([from, to].map((end) => Math.round(10 * end) / 10)).toEqual([3.8, 8.7]);
    expect(decades([100])).toEqual({ from: 1.9, to: 2.1 });
    expect(decades([])).toEqual({ from: 0, to: 1 });
  });

  it("have powers of ten when logarithmic, and more where there are few", () => {
    expect(logTicks({ from: 3.8, to: 6.2 }, 9)).toEqual([1e4, 1e5, 1e6]);
    expect(logTicks({ from: 0, to: 9 }, 5)).toEqual([1, 1e2, 1e4, 1e6, 1e8]);
    expect(logTicks({ from: 1.9, to: 2.8 }, 9)).toEqual([100, 200, 500]);
    expect(logTicks({ from: 5.5, to: 7.9 }, 4)).toEqual([5e5, 2e6, 1e7, 5e7]);
    expect(logShare(1e6, { from: 4, to: 8 })).toBe(0.5);
  });
});

describe("labels", () => {
  const measure = (text: string) => text.length * 6;
  const place = (from: number, to: number, inside = true) =>
    labelFor(["Store 64.0 ms", "Store"], { from, to }, 0, 300, measure, inside);

  it("stand inside where they fit, else right, else left", () => {
    expect(place(0, 200)).toEqual({ text: "Store 64.0 ms", side: "inside", x: 6 });
    expect(place(0, 40)).toEqual({ text: "Store 64.0 ms", side: "right", x: 46 });
    expect(place(260, 300)).toEqual({ text: "Store 64.0 ms", side: "left", x: 176 });
    expect(place(0, 200, false)?.side).toBe("right");
  });

  it("are shortened before they are dropped", () => {
    const bar = { from: 40, to: 100 };
    expect(labelFor(["Store 64.0 ms", "Store"], bar, 30, 110, measure)?.text).toBe("Store");
    expect(labelFor(["Store 64.0 ms"], { from: 40, to: 60 }, 30, 70, measure)).toBeNull();
  });

  it("end in an ellipsis when cut", () => {
    expect(shortened("Graph optimization", 60, measure)).toBe("Graph opt…");
    expect(shortened("Graph", 3, measure)).toBe("");
    expect(shortened("Graph", 30, measure)).toBe("Graph");
  });
});

describe("keys", () => {
  const press = (key: string, more: object = {}) =>
    actionOf(new KeyboardEvent("keydown", { key, ...more }));

  it("mean what they mean in Perfetto and Jaeger", () => {
    expect(
      ["w", "a", "s", "d", "f", "0", "n", "p", "/", "?", "Escape"].map((key) => press(key)),
    ).toEqual([
      "zoom-in",
      "left",
      "zoom-out",
      "right",
      "fit",
      "reset",
      "next",
      "previous",
      "search",
      "help",
      "escape",
    ]);
    expect(press("W")).toBe("zoom-in");
  });

  it("leave the others, and all combinations, to the notebook", () => {
    expect(press("x")).toBeNull();
    expect(press("constructor")).toBeNull();
    expect(press("s", { ctrlKey: true })).toBeNull();
    expect(press("a", { metaKey: true })).toBeNull();
  });
});

interface Line {
  readonly name: string;
  readonly time: number | null;
}

const COLUMNS: GridColumn<Line>[] = [
  { title: "Name", key: "name", value: (line) => line.name, text: (line) => line.name },
  {
    title: "time",
    key: "time_ns",
    value: (line) => line.time,
    text: (line) => (line.time === null ? "–" : `${line.time} ns`),
    isNumber: true,
  },
];
const LINES: Line[] = [
  { name: "b", time: 10 },
  { name: "=1+1", time: null },
  { name: 'a|"x",\ny', time: 9 },
];

describe("tables", () => {
  it("sort numbers as numbers, and unknown comes last both ways", () => {
    const times = (isDescending: boolean) =>
      sortedRows(LINES, COLUMNS[1] as GridColumn<Line>, isDescending).map((line) => line.time);
    expect(times(false)).toEqual([9, 10, null]);
    expect(times(true)).toEqual([10, 9, null]);
  });

  it("copy as Markdown that cannot break out of its cell", () => {
    const text = markdown(COLUMNS, [{ name: "<img src=x> | `a`", time: 1 }]);
    expect(text.split("\n")[2]).toBe("| \\<img src=x\\> \\| \\`a\\` | 1 ns |");
  });

  it("copy as CSV with units in the head and no formula for a spreadsheet", () => {
    expect(csv(COLUMNS, LINES).split("\r\n")).toEqual([
      "name,time_ns",
      "b,10",
      "'=1+1,",
      '"a|""x"",\ny",9',
      "",
    ]);
  });
});

describe("series over size", () => {
  const sweep = sampleSweep();

  it("hold the median and the middle half; cold stays apart", () => {
    const [warm] = seriesOf(sweep, "ray", false);
    expect(warm?.count).toBe(5);
    expect(warm?.median_ns).toBe(71_300_000);
    expect(seriesOf(sweep, "ray", true)[0]?.median_ns).toBe(1_210_000_000);
    expect(seriesOf(sweep, "ray", false, "ray.msgpack")[0]?.median_ns).toBe(400_000);
    expect(seriesOf(sweep, "dask", false)).toEqual([]);
    expect(sizesOf(sweep)).toEqual([800_000_000]);
  });

  it("draw only fits and crossovers whose numbers are there", () => {
    const fit = { variant: "ray", from_bytes: 1, to_bytes: 9, fixed_ns: 3, ns_per_byte: 0.5 };
    // As nobody of ours writes them, but anybody may.
    const doc = {
      ...sweep,
      fits: [fit, { variant: "ray", from_bytes: 1 }] as never,
      crossovers: [{ from_bytes: 10, to_bytes: 20 }, { from_bytes: "many" }] as never,
    };
    const unknown = { growth: "", cause: "", low: null, high: null };
    expect(fitsOf(doc)).toEqual([{ ...fit, stage: null, cold: false, ...unknown }]);
    expect(crossoversOf(doc)).toHaveLength(1);
  });
});

describe("fits", () => {
  const fit = { variant: "ray", from_bytes: 1_000, to_bytes: 9_000, fixed_ns: 500, ns_per_byte: 1 };
  const fits = (...list: object[]) => fitsOf({ ...sampleSweep(), fits: list as never });

  it("keep what else is known about them, and nothing that is no number", () => {
    const more = { cause: "fresh pages", low: 0.9, high: 1.1 };
    expect(fits({ ...fit, ...more })[0]).toMatchObject(more);
    expect(fits({ ...fit, high: "1", low: null })[0]).toMatchObject({ high: null, low: null });
  });

  it("break where one piece ends and the next begins, also where no line can be told", () => {
    const next = { ...fit, from_bytes: 10_000, to_bytes: 90_000, ns_per_byte: 3, cause: "faults" };
    expect(breaksOf(fits(next, fit))).toEqual([{ from_bytes: 9_000, to_bytes: 10_000 }]);
    expect(breaksOf(fits(fit))).toEqual([]);
    const untold = { ...next, growth: "cannot tell", fixed_ns: undefined, ns_per_byte: undefined };
    expect(breaksOf(fits(JSON.parse(JSON.stringify(untold)), fit))).toHaveLength(1);
  });
});

describe("file names", () => {
  it("are safe on every system", () => {
    expect(fileName("../x y\\<z>", ".json")).toBe("x-y-z.json");
    expect(fileName("///", ".json")).toBe("profile.json");
  });
});
