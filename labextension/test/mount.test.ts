import { afterEach, describe, expect, it, vi } from "vitest";
import type { Host, View } from "../src/document/host";
import { svgOf } from "../src/kit/clip";
import { gapsOf } from "../src/waterfall/plot";
import { mount } from "./every";
import { HOSTILE, sampleSweep, sampleTrace, silentHost } from "./sample";
import { soon } from "./soon";

let view: View | null = null;

afterEach(() => {
  view?.destroy();
  view = null;
  document.body.replaceChildren();
});

function draw(doc: unknown, host: Host = silentHost): HTMLElement {
  view = mount(document.body, doc, host);
  return document.body.querySelector(".jsp-root") as HTMLElement;
}

function columnOf(root: HTMLElement, position: number): number[] {
  const rows = [...root.querySelectorAll("tbody tr:not([hidden])")];
  return rows.map((row) => Number(row.children[position]?.textContent?.replace(",", "")));
}

describe("a trace", () => {
  it("is led by its sentence, the remedy and two facts; the others are in Details", () => {
    const trace = sampleTrace();
    const facts = [...(trace.summary?.facts ?? []).slice(0, 1), "2 workers busy", "ray 2.60.0"];
    trace.summary = { headline: "90 % is Store of `a`, b` aside" };
    expect(draw(trace).querySelector(".jsp-headline code, .jsp-facts")).toBeNull();
    view?.destroy();
    trace.summary = { headline: "90 % is Store of `a[0]`", facts };
    const root = draw(trace);
    expect(root.querySelector(".jsp-headline")?.textContent).toBe("90 % is Store of a[0]");
    expect(root.querySelector(".jsp-headline code")?.textContent).toBe("a[0]");
    const parts = [...(root.querySelector(".jsp-head")?.children ?? [])];
    expect(parts.map((node) => node.className)).toEqual([
      "jsp-headline",
      "jsp-summary",
      "jsp-remedy",
      "jsp-facts",
    ]);
    expect(parts[3]?.textContent).toBe("named 99.2 %2 workers busy");
    expect(root.textContent).not.toContain("ray 2.60.0");
    view?.destroy();
    expect(draw(trace, { view: "details" }).textContent).toContain("ray 2.60.0");
  });

  it("shows a row for each stage and for what nobody explains", () => {
    const names = [...draw(sampleTrace()).querySelectorAll("tbody th")].map((th) => th.textContent);
    expect(names).toEqual([
      "Store",
      "Wait and fetch",
      "3 more stages, 1.1\u00a0%",
      "Look at each element",
      "Pickle by Ray",
      "Unpickle in get×1,234",
      "Unaccounted",
    ]);
    const bar = [...document.body.querySelectorAll<HTMLElement>(".jsp-summary > *")];
    expect(bar.map((part) => part.title)).toContain("3 more stages: 1.1\u00a0%");
  });

  it("folds what its document tells together, and opens it", () => {
    const shown = (root: HTMLElement) =>
      [...root.querySelectorAll("tbody tr:not([hidden]) th")].map((th) => th.textContent);
    const root = draw(sampleTrace());
    expect(shown(root)).not.toContain("Pickle by Ray");
    root.querySelector<HTMLElement>("[aria-label^='Rows of 3 more']")?.click();
    expect(shown(root)).toContain("Pickle by Ray");
  });

  it("prints a self column that adds up, and the share of each row as sentences have it", () => {
    const root = draw(sampleTrace());
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    expect(sum(columnOf(root, 3))).toBeCloseTo(71.3, 9);
    const { rows, unaccounted_ns } = sampleTrace().waterfall;
    const [walk = 0, pickle = 0, store = 0, wait = 0, get = 0] = rows.map((row) => row.self_ns);
    const own = [store, wait, walk + pickle + get, unaccounted_ns];
    expect(columnOf(root, 4)).toEqual(own.map((ns) => Math.round((1000 * ns) / 71_300_000) / 10));
  });

  it("stands each bar at its true time", () => {
    const bars = [...draw(sampleTrace()).querySelectorAll<HTMLElement>("tbody .jsp-bar.jsp-store")];
    expect(bars).toHaveLength(1);
    expect(Number.parseFloat(bars[0]?.style.left ?? "")).toBeCloseTo(100 * (0.6 / 71.3), 2);
    expect(Number.parseFloat(bars[0]?.style.width ?? "")).toBeCloseTo(100 * (64 / 71.3), 2);
  });

  it("has no column of dashes, of what was not seen and of zeros", () => {
    const { waterfall, ...trace } = sampleTrace();
    const drawn = (...counts: (number | null)[]) => {
      view?.destroy();
      const rows = waterfall.rows.map((row, at) => ({ ...row, minor_faults: counts[at] ?? null }));
      const root = draw({ ...trace, waterfall: { ...waterfall, rows } });
      return root.querySelector(".jsp-waterfall") as HTMLElement;
    };
    expect(drawn(0, null, 0, null, 0).dataset.left).toContain("faults");
    expect(drawn(0, null, 1, null, 0).dataset.left).not.toContain("faults");
    const folded = drawn(1, null, 0, null, 0);
    expect(folded.dataset.left).toContain("faults");
    folded.querySelector<HTMLElement>("[aria-label^='Rows of 3 more']")?.click();
    expect(folded.dataset.left).not.toContain("faults");
  });

  it("labels a bar with the number of its column, and none of several spans", () => {
    const rows = [...draw(sampleTrace()).querySelectorAll("tbody tr")].map((row) => [
      row.querySelector(".jsp-stage-name")?.firstChild?.textContent,
      row.querySelector(".jsp-label")?.textContent,
      row.querySelector(".jsp-number")?.textContent,
    ]);
    expect(rows.slice(0, -1)).toEqual([
      ["Store", "64.00\u00a0ms", "64.00"],
      ["Wait and fetch", "5.90\u00a0ms", "5.90"],
      ["3 more stages, 1.1\u00a0%", "", "0.80"],
      ["Look at each element", "0.18\u00a0ms", "0.18"],
      ["Pickle by Ray", "0.22\u00a0ms", "0.22"],
      ["Unpickle in get", "", "0.40"],
    ]);
  });

  it("gives rates only to bytes that were copied", () => {
    const cells = (title: string) => {
      const row = [...draw(sampleTrace()).querySelectorAll("tbody tr")].find(
        (tr) => tr.querySelector("th")?.textContent === title,
      );
      return [...(row?.children ?? [])].slice(6, 9).map((td) => td.textContent);
    };
    expect(cells("Store")).toEqual(["800\u00a0MB", "12.5\u00a0GB/s", "97\u00a0%"]);
    view?.destroy();
    expect(cells("Wait and fetch")).toEqual(["800\u00a0MB", "zero-copy", "–"]);
  });

  it("hatches exactly the time that no row owns", () => {
    const gaps = gapsOf(sampleTrace());
    expect(gaps).toEqual([
      [0, 200_000],
      [64_600_000, 100_000],
      [71_000_000, 300_000],
    ]);
  });

  it("says so when it was interrupted", () => {
    const root = draw({ ...sampleTrace(), outcome: "interrupted" });
    expect(root.querySelector(".jsp-outcome")?.textContent).toContain("interrupted");
  });
});

describe("code in a sentence", () => {
  it("is drawn as code in the facts and in the details", () => {
    const summary = { headline: "a", facts: ["`g` compared with `f`", "x", "`h` left out"] };
    const root = draw({ ...sampleTrace(), summary });
    const words = (own: ParentNode) => [...own.querySelectorAll("code")].map((c) => c.textContent);
    expect(words(root.querySelector(".jsp-facts") as HTMLElement)).toEqual(["g", "f"]);
    view?.destroy();
    const details = draw({ ...sampleTrace(), summary }, { view: "details" });
    expect(words(details.querySelector(".jsp-panel .jsp-note") as HTMLElement)).toEqual(["h"]);
    expect(details.textContent).not.toContain("`");
  });
});

describe("findings", () => {
  it("show one in full and the others one click away", () => {
    const root = draw(sampleTrace());
    expect(root.querySelectorAll(".jsp-finding")).toHaveLength(1);
    expect(root.querySelector(".jsp-link")?.textContent).toBe("1 more");
    root.querySelector<HTMLElement>(".jsp-link")?.click();
    expect(root.querySelectorAll(".jsp-finding")).toHaveLength(2);
    expect(root.querySelector(".jsp-evidence")?.textContent).toContain("2.40\u00a0GB");
    expect(root.querySelector(".jsp-evidence")?.textContent).toContain("n/a");
  });

  it("say their evidence, and not a second time what the headline says", () => {
    const [first] = sampleTrace().findings ?? [];
    const findings = [{ ...first, because: "10 times 240 MB" }];
    const told = { headline: `71.3 ms: ${first?.title}` };
    const cardOf = (more: object) => draw({ ...sampleTrace(), findings, ...more }, silentHost);
    const root = cardOf({ summary: told });
    expect(root.querySelector(".jsp-finding")?.textContent).toContain("10 times 240 MB");
    expect(root.textContent?.split(String(first?.title))).toHaveLength(2);
    view?.destroy();
    expect(cardOf({}).querySelector(".jsp-finding strong")?.textContent).toBe(first?.title);
    expect(cardOf({}).querySelector(".jsp-evidence")).toBeNull();
  });

  it("hand the remedy to the host when Copy is pressed", () => {
    const copy = vi.fn(() => Promise.resolve());
    const root = draw(sampleTrace(), { copy });
    root.querySelector<HTMLElement>(".jsp-remedy button")?.click();
    expect(copy).toHaveBeenCalledWith("ref = ray.put(a)    # once, then pass ref");
  });

  it("lead to their page where the document has its address, and nowhere else", async () => {
    const linksOf = (page: string | undefined): (string | null)[] => {
      view?.destroy();
      const [findings = [], stages] = [sampleTrace().findings, sampleTrace().stages];
      const paged = <Each>(list: readonly Each[]): Each[] => list.map((one) => ({ ...one, page }));
      const doc = { ...sampleTrace(), findings: paged(findings), stages: paged(stages) };
      for (const button of draw(doc).querySelectorAll<HTMLElement>(".jsp-twisty")) {
        button.click();
      }
      const links = [...document.querySelectorAll("a")];
      return links.map((link) => link.getAttribute("href"));
    };
    const page = "https://docs.example/findings/ray.many-puts.html";
    expect(linksOf(undefined)).toEqual([]);
    expect(linksOf("javascript:alert(1)")).toEqual([]);
    expect(linksOf(page)[0]).toBe(page);
    await soon(() => expect(document.querySelectorAll(".jsp-row-note a")).toHaveLength(1));
    expect(document.querySelector("td:has(a)")?.textContent).toBe("Contains: not copied why");
  });

  it("never turn their text into elements", () => {
    const root = draw(sampleTrace());
    expect(root.querySelector("img")).toBeNull();
    expect(root.textContent).toContain(HOSTILE);
  });
});

describe("a sweep", () => {
  it("breaks a name behind its dots", () => {
    const { variants, ...sweep } = sampleSweep();
    const [first, ...others] = variants;
    const named = { ...first, title: "client.scatter + gather" } as typeof first;
    const root = draw({ ...sweep, variants: [named, ...others] as typeof variants });
    const name = root.querySelector(".jsp-variant strong");
    expect(name?.innerHTML).toMatch(/^client\.<wbr>scatter \+ gather/);
  });

  it("keeps the cold run apart and shows the median of the warm ones", () => {
    const rows = [...draw(sampleSweep()).querySelectorAll(".jsp-sweep tbody")][0];
    const text = [...(rows?.querySelectorAll("tr") ?? [])].map((tr) => tr.textContent);
    expect(text).toHaveLength(2);
    expect(text[0]).toContain("warm ×5");
    expect(text[0]).toContain("71.3\u00a0ms");
    expect(text[1]).toContain("1.21\u00a0s");
  });

  it("says once why several ways have no runs, and draws no legend for nothing", () => {
    const doc = sampleSweep();
    const [first] = doc.variants;
    const variants = ["a", "b"].map((key) => {
      return { ...(first as object), key, title: key, state: "failed", reason: "a lock" };
    });
    const root = draw({ ...doc, variants, points: [], runs: [], traces: [] });
    const rows = [...root.querySelectorAll(".jsp-sweep tbody")].map((row) => row.textContent);
    expect(rows).toEqual(["abzero-copy, read-onlyfailed: a lock"]);
    expect(root.querySelector(".jsp-sweep .jsp-legend")).toBeNull();
  });

  it("gives its notes the whole width below the runs", () => {
    const doc = sampleSweep();
    const variants = doc.variants.map((each) => ({ ...each, notes: ["came back read-only"] }));
    const [body] = draw({ ...doc, variants }).querySelectorAll(".jsp-sweep tbody");
    const note = body?.querySelector<HTMLTableCellElement>(".jsp-variant-note td");
    const head = body?.querySelector<HTMLTableCellElement>("th");
    const columns = draw(doc).querySelectorAll("thead th").length;
    expect([note?.textContent, note?.colSpan]).toEqual(["came back read-only", columns]);
    expect(head?.rowSpan).toBe(2);
  });

  it("gives the gain a column of its own", () => {
    const doc = sampleSweep();
    expect(draw(doc).textContent).not.toContain("gain");
    view?.destroy();
    document.body.replaceChildren();
    const facts = { tried: true, gain: 2.44 };
    const tried = { ...doc, variants: doc.variants.map((each) => ({ ...each, facts })) };
    const table = draw(tried).querySelector(".jsp-sweep table");
    expect(table?.querySelector("thead")?.textContent).toContain("gain");
    expect(table?.querySelector("tr.jsp-warm")?.lastElementChild?.textContent).toBe("2.4×");
  });

  it("says why a variant has no runs", () => {
    expect(draw(sampleSweep()).textContent).toContain("not running: start a dask client");
  });
});

describe("documents that cannot be drawn", () => {
  it.each([
    ["nothing", null],
    ["a foreign format", { format: "other", version: 1 }],
    ["a newer version of another make", { ...sampleTrace(), version: 2, stages: 4 }],
    ["rows that are no list", { ...sampleTrace(), waterfall: { rows: 4, unaccounted_ns: 0 } }],
    ["a row without its stage", { ...sampleTrace(), stages: [] }],
    ["a time that is no number", { ...sampleTrace(), wall_ns: "long" }],
    ["a damaged sweep", { ...sampleSweep(), points: [{ variant: "ray" }] }],
  ])("get a sentence with a remedy: %s", (_name, doc) => {
    const alert = draw(doc).querySelector("[role=alert]");
    expect(alert?.textContent).toMatch(/Run/);
  });
});

describe("a trace that dropped spans", () => {
  it("says where their time went, and not that totals are exact", () => {
    const trace = sampleTrace();
    const quality = { ...trace.quality, spans_dropped: 3 };
    const root = draw({ ...trace, quality }, { view: "details" });
    const said = root.querySelector(".jsp-panel")?.textContent;
    expect(said).toContain("3 spans were dropped; their time went to what encloses them");
    expect(said).not.toContain("exact");
  });
});

describe("a trace whose waterfall nobody computed", () => {
  it.each([null, undefined])("shows its lanes and says so: %s", async (waterfall) => {
    const root = draw({ ...sampleTrace(), waterfall });
    const names = [...root.querySelectorAll(".jsp-switch [role=radio]")];
    expect(names.map((node) => node.textContent)).toEqual([
      "Lanes",
      "Table",
      "Details",
      "Findings2",
    ]);
    expect(root.querySelector(".jsp-head")?.textContent).toContain("no waterfall");
    expect(root.querySelector("[role=alert]")).toBeNull();
    await soon(() => expect(root.querySelector(".jsp-map, .jsp-note")).not.toBeNull());
  });

  it("is saved as it came", async () => {
    const blobs: Blob[] = [];
    const source = { ...sampleTrace(), waterfall: null, findings: "none" };
    const root = draw(source, { save: (_name: string, blob: Blob) => blobs.push(blob) });
    root.querySelector<HTMLElement>(".jsp-menu button")?.click();
    await soon(() => expect(blobs).toHaveLength(1));
    expect(JSON.parse((await blobs[0]?.text()) ?? "")).toEqual(source);
  });
});

describe("the menu to save", () => {
  const titles = (root: HTMLElement) =>
    [...root.querySelectorAll(".jsp-menu button")].map((button) => button.textContent);

  it("offers a page only where the host can make one", async () => {
    expect(titles(draw(sampleTrace()))).toEqual(["Document (JSON)", "Picture (PNG)"]);
    view?.destroy();
    const saved: [string, Blob][] = [];
    const root = draw(sampleTrace(), {
      page: (doc) => new Blob([String((doc as { name: string }).name)]),
      save: (name, blob) => saved.push([name, blob]),
    });
    [...root.querySelectorAll<HTMLElement>(".jsp-menu button")].at(-1)?.click();
    await soon(() => expect(saved).toHaveLength(1));
    expect(saved[0]?.[0]).toBe("ray-get-ray-put-a.html");
    expect(await saved[0]?.[1].text()).toBe("ray.get(ray.put(a))");
  });

  it("says so when the browser cannot make a picture, and closes with Escape", async () => {
    const root = draw(sampleTrace());
    const [menu] = root.querySelectorAll<HTMLDetailsElement>(".jsp-menu");
    vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(null);
    root.querySelectorAll<HTMLElement>(".jsp-menu button")[1]?.click();
    await soon(() => expect(titles(root)[1]).toContain("not possible"));
    (menu as HTMLDetailsElement).open = true;
    menu?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    expect(menu?.open).toBe(false);
    vi.restoreAllMocks();
  });

  it("draws a picture from a copy without controls, with text only as text", () => {
    const root = draw(sampleTrace());
    const svg = svgOf(root, 800, 600);
    expect(svg).toContain("90 % is Store");
    expect(svg).toContain("&lt;img");
    expect(svg).not.toContain("<img");
    expect(svg).not.toContain("jsp-menu-list");
    expect(root.querySelector(".jsp-menu")).not.toBeNull();
  });

  it("draws a picture whatever characters a name has", () => {
    const name = "a\u0008b\ud800c\td";
    const svg = svgOf(draw({ ...sampleTrace(), name, summary: null }), 800, 600);
    expect(svg).toContain("abc\td");
    expect(() => encodeURIComponent(svg)).not.toThrow();
  });
});

describe("the view", () => {
  it("is ready after it was painted, draws anew and leaves nothing behind", async () => {
    const root = draw(sampleTrace());
    await soon(() => expect(root.dataset.ready).toBe("1"));
    view?.update(sampleSweep());
    expect(root.dataset.ready).toBeUndefined();
    expect(root.querySelector(".jsp-sweep")).not.toBeNull();
    view?.destroy();
    expect(document.body.childElementCount).toBe(0);
  });
});
