import { afterEach, describe, expect, it, vi } from "vitest";
import {
  type Anatomy,
  brokenIn,
  bytesOf,
  foundIn,
  pathOf,
  readAnatomy,
} from "../src/blame/anatomy";
import { blockAt, blocksOf } from "../src/blame/layout";
import type { Anatomy as Stored } from "../src/document/document";
import type { View } from "../src/document/host";
import { mount } from "./every";
import { pack, traceOf } from "./make";

const STRINGS = ["", "job", ".big", ".small", ".lock", ".inner", "dict", "lock", "unpicklable"];
const NOTE = "cannot pickle '_thread.lock' object";

/** job 1000 B: .small 100, .big 600 (.inner 500 of it out-of-band), .lock which cannot be pickled. */
function stored(): Stored {
  return {
    name: "job",
    pickler: "cloudpickle",
    protocol: 5,
    in_band_bytes: 500,
    out_of_band_bytes: 500,
    strings: [...STRINGS, NOTE],
    parts: {
      label: [1, 3, 2, 5, 4],
      kind: [6, 6, 6, 6, 7],
      state: [0, 0, 0, 0, 8],
      note: [0, 0, 0, 0, 9],
      parent: [-1, 0, 0, 2, 0],
      self_bytes: [300, 100, 100, 0, 0],
      in_band_bytes: [500, 100, 100, 0, 0],
      out_of_band_bytes: [500, 0, 500, 500, 0],
      count: [1, 1, 1, 3, 1],
      duration_ns: [9_000_000, 1_000_000, 5_000_000, null, null],
    },
  };
}

function read(change: (doc: Stored) => void = () => undefined): Anatomy {
  const doc = stored();
  change(doc);
  return readAnatomy(doc) as Anatomy;
}

/** A chain of parts, or many below one root. */
function many(count: number, isDeep: boolean): Stored {
  const column = (value: (at: number) => number): number[] =>
    Array.from({ length: count }, (_, at) => value(at));
  const bytes = column((at) => (isDeep ? count - at : at === 0 ? count - 1 : 1));
  return {
    ...stored(),
    in_band_bytes: bytes[0] as number,
    out_of_band_bytes: 0,
    parts: {
      label: column(() => 3),
      kind: column(() => 6),
      state: column(() => 0),
      note: column(() => 0),
      parent: column((at) => (isDeep ? at - 1 : at === 0 ? -1 : 0)),
      self_bytes: column((at) => (isDeep || at > 0 ? 1 : 0)),
      in_band_bytes: bytes,
      out_of_band_bytes: column(() => 0),
      count: column(() => 1),
      duration_ns: column(() => 0),
    },
  };
}

describe("an anatomy", () => {
  it("orders parts: what cannot be pickled first, then the largest", () => {
    expect(read().children(0)).toEqual([4, 2, 1]);
  });

  it("knows what holds a part that cannot be pickled", () => {
    const anatomy = read();
    expect([0, 1, 2, 3, 4].map(anatomy.isBroken)).toEqual([true, false, false, false, true]);
    expect(brokenIn(anatomy)).toEqual([4]);
  });

  it("joins the steps of a path, and shortens a very deep one", () => {
    expect(pathOf(read(), 3)).toBe("job.big.inner");
    const deep = readAnatomy(many(10_000, true)) as Anatomy;
    expect(pathOf(deep, 9_999)).toContain("…");
    expect(pathOf(deep, 9_999).length).toBeLessThan(200);
  });

  it("finds words in path steps, types, states and notes, the largest part first", () => {
    expect(foundIn(read(), "DICT")).toEqual([0, 2, 3, 1]);
    expect(foundIn(read(), "thread.lock")).toEqual([4]);
    expect(foundIn(read(), "nothing")).toEqual([]);
  });

  it("is the same when its columns are packed", async () => {
    const parts = stored().parts;
    const packed = await Promise.all(
      Object.entries(parts).map(async ([key, list]) => [
        key,
        await pack(list as (number | null)[]),
      ]),
    );
    const anatomy = await readAnatomy({ ...stored(), parts: Object.fromEntries(packed) });
    expect(anatomy.children(0)).toEqual(read().children(0));
    expect(bytesOf(anatomy, 2)).toBe(600);
    expect(anatomy.duration[3]).toBeNaN();
  });

  it("survives damaged columns: parents that point nowhere, strings that are missing", () => {
    const anatomy = read((doc) => {
      doc.parts.parent = [7, 4, 0, 2, 0];
      doc.parts.label = [99, 3, 2];
    });
    expect(anatomy.count).toBe(3);
    expect(anatomy.label(0)).toBe("");
    expect(anatomy.children(0)).toEqual([2, 1]);
    expect(anatomy.problem).toContain("unequal");
  });
});

describe("an icicle", () => {
  const weightOf =
    (anatomy: Anatomy) =>
    (part: number): number =>
      bytesOf(anatomy, part);

  it("stands parts below what holds them, as wide as their bytes", () => {
    const anatomy = read((doc) => {
      doc.parts.state = [0, 0, 0, 0, 0];
    });
    const blocks = blocksOf(anatomy, 0, 1000, 9, weightOf(anatomy));
    const big = blocks.find((block) => block.part === 2);
    expect(big).toMatchObject({ x: 0, width: 600, row: 1, isOpen: true });
    expect(blocks.find((block) => block.part === 3)).toMatchObject({ x: 0, width: 500, row: 2 });
    expect(blockAt(blocks, 650, 1)?.part).toBe(1);
    expect(blockAt(blocks, 900, 1)).toBeNull();
  });

  it("shows what cannot be pickled although it has no bytes", () => {
    const anatomy = read();
    const lock = blocksOf(anatomy, 0, 1000, 9, weightOf(anatomy)).find(({ part }) => part === 4);
    expect(lock?.width).toBeGreaterThan(10);
  });

  it("draws as many blocks as there are pixels, not parts", () => {
    const anatomy = readAnatomy(many(10_000, false)) as Anatomy;
    const blocks = blocksOf(anatomy, 0, 1000, 9, weightOf(anatomy));
    expect(blocks.map(({ together }) => together)).toEqual([1, 9_999]);
    expect(blocks[1]?.width).toBeCloseTo(1000, 6);
  });

  it("ends after its rows, however deep the object is", () => {
    const anatomy = readAnatomy(many(10_000, true)) as Anatomy;
    expect(blocksOf(anatomy, 0, 1000, 12, weightOf(anatomy))).toHaveLength(12);
  });
});

let view: View | null = null;

afterEach(() => {
  view?.destroy();
  view = null;
  document.body.replaceChildren();
});

function draw(...anatomies: Stored[]): HTMLElement {
  const doc = { ...traceOf([{ start: 0, length: 9 }]), anatomies };
  view = mount(document.body, doc);
  return document.body.querySelector(".jsp-root") as HTMLElement;
}

function press(node: Element | null, key: string): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  node?.dispatchEvent(event);
  return event;
}

const trail = (root: Element) =>
  [...root.querySelectorAll(".jsp-trail > *")].map((node) => node.textContent);
const names = (root: Element) =>
  [...root.querySelectorAll(".jsp-parts .jsp-part-name")].map((node) => node.textContent);

describe("the view of an anatomy", () => {
  it("is the first one where there is an anatomy", () => {
    const root = draw(stored());
    expect(root.querySelector(".jsp-switch [aria-checked=true]")?.textContent).toBe("Blame");
    expect(root.querySelector("canvas")?.getAttribute("role")).toBe("application");
    expect(root.textContent).toContain("Leaves 600 + containers 400 = 1,000 bytes");
  });

  it("names what cannot be pickled before anything else, with path and reason", () => {
    const list = draw(stored()).querySelector(".jsp-broken");
    expect(list?.textContent).toContain("job.lock");
    expect(list?.textContent).toContain(NOTE);
    expect(list?.previousElementSibling?.textContent).toContain("One part cannot be pickled");
  });

  it("opens and folds parts by keyboard", () => {
    const root = draw(stored());
    expect(names(root)).toEqual(["job", ".lock", ".big", ".inner ×3", ".small"]);
    const [, big] = root.querySelectorAll(".jsp-parts .jsp-twisty");
    press(big as Element, "ArrowLeft");
    expect(names(root)).toEqual(["job", ".lock", ".big", ".small"]);
    press(big as Element, "ArrowRight");
    expect(names(root)).toContain(".inner ×3");
  });

  it("zooms with Enter, and back with Esc and 0", () => {
    const root = draw(stored());
    const canvas = root.querySelector("canvas");
    press(canvas, "ArrowDown");
    press(canvas, "ArrowRight");
    expect(root.querySelector("[aria-live]")?.textContent).toContain("job.big, dict, 600");
    expect(press(canvas, "Enter").defaultPrevented).toBe(true);
    expect(trail(root)).toEqual(["job", ".big"]);
    expect(names(root)[0]).toBe(".big");
    press(canvas, "ArrowDown");
    press(canvas, "Enter");
    expect(trail(root)).toEqual(["job", ".big", ".inner"]);
    press(canvas, "Escape");
    expect(trail(root)).toEqual(["job", ".big"]);
    press(canvas, "0");
    expect(trail(root)).toEqual(["job"]);
    root.querySelector<HTMLElement>(".jsp-broken button")?.click();
    expect(trail(root)).toEqual(["job"]);
  });

  it("lists what is searched for with whole paths", () => {
    vi.useFakeTimers();
    const root = draw(stored());
    const input = root.querySelector<HTMLInputElement>(".jsp-search") as HTMLInputElement;
    expect(input.getAttribute("aria-label")).toContain("Search parts");
    input.value = "inner";
    input.dispatchEvent(new Event("input"));
    vi.runAllTimers();
    vi.useRealTimers();
    expect(names(root)).toEqual(["job.big.inner"]);
    root.querySelector<HTMLElement>(".jsp-parts .jsp-link")?.click();
    expect(trail(root)).toEqual(["job", ".big", ".inner"]);
  });

  it("switches between several objects, by buttons or, of many, by a list", () => {
    const other = { ...stored(), name: "other", strings: ["", "other", ...STRINGS.slice(2)] };
    const root = draw(stored(), other);
    const choice = [...root.querySelectorAll<HTMLElement>(".jsp-controls [role=radio]")];
    choice[1]?.click();
    expect(names(root)[0]).toBe("other");
    view?.destroy();
    const long = draw(...Array.from({ length: 9 }, () => other));
    expect(long.querySelectorAll(".jsp-select option")).toHaveLength(9);
  });

  it("shows many parts in pages", () => {
    const root = draw(many(10_000, false));
    expect(names(root)).toHaveLength(51);
    root.querySelector<HTMLElement>(".jsp-parts-more button")?.click();
    expect(names(root)).toHaveLength(101);
    expect(root.querySelectorAll(".jsp-parts-more")).toHaveLength(1);
    press(root.querySelector(".jsp-parts .jsp-twisty"), "ArrowLeft");
    expect(root.querySelectorAll(".jsp-parts tbody tr")).toHaveLength(1);
  });

  it("of an object that was not run misses no waterfall", () => {
    const doc = { ...traceOf([{ start: 0, length: 9 }]), waterfall: null };
    view = mount(document.body, { ...doc, anatomies: [stored()] });
    expect(document.body.textContent).not.toContain("has no waterfall");
  });

  it("of an interrupted pass says so once, and shows no size that was never measured", () => {
    const doc = stored();
    doc.in_band_bytes = 0;
    doc.out_of_band_bytes = 0;
    doc.is_complete = false;
    doc.notes = ["interrupted: what was measured until then"];
    doc.strings = ["", "job", "dict", "not opened"];
    const one = { label: 1, kind: 2, state: 3, note: 0, parent: -1, count: 1 };
    const none = { self_bytes: 0, in_band_bytes: 0, out_of_band_bytes: 0, duration_ns: null };
    const columns = Object.entries({ ...one, ...none }).map(([key, value]) => [key, [value]]);
    const root = draw({ ...doc, parts: Object.fromEntries(columns) as Stored["parts"] });
    expect(root.textContent).toContain("interrupted: what was measured until then");
    expect(root.textContent).not.toContain("ended before everything");
    const cells = [...root.querySelectorAll(".jsp-parts tbody td.jsp-number")];
    expect(cells.slice(0, 3).map((cell) => cell.textContent)).toEqual(["n/a", "n/a", "n/a"]);
  });

  it("says so when there are no parts", () => {
    const parts = Object.fromEntries(Object.keys(stored().parts).map((key) => [key, []]));
    const root = draw({ ...stored(), parts: parts as unknown as Stored["parts"] });
    expect(root.textContent).toContain("nothing was opened");
  });
});
