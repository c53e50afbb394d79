import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { mountCompare } from "../src/compare/sides";
import type { SerprofDocument } from "../src/document/document";
import type { View } from "../src/document/host";
import { svgOf } from "../src/kit/clip";
import { mount } from "./every";
import { traceOf } from "./make";
import { sampleSweep, sampleTrace, told } from "./sample";

const HEADS = ["<img src=x onerror=", "<svg onload=", "<body onload=", "<input autofocus onfocus="];
const BREAKS = [
  "",
  '">',
  "'>",
  "</script>",
  "</style>",
  "</textarea>",
  "<!--",
  "]]>",
  "\u2028",
  "&lt;",
];
const TAILS = [
  "broken()>",
  "broken()//",
  ["`$", "{broken()}`>"].join(""),
  "javascript:broken()>",
  "broken&#40;&#41;>",
];

/** 200 ways to smuggle something that runs. */
const PAYLOADS = HEADS.flatMap((head) =>
  BREAKS.flatMap((ends) => TAILS.map((tail) => `${ends}${head}${tail}`)),
);

/** The same document with a payload in every string and in every key that is free. */
function poisoned<T>(value: T, payload: string, key = ""): T {
  if (typeof value === "string") {
    const isFixed = ["format", "started", "outcome", "enc", "dtype", "data", "variant"].includes(
      key,
    );
    return (isFixed ? value : `${value}${payload}`) as T;
  }
  if (Array.isArray(value)) {
    return value.map((item) => poisoned(item, payload, key)) as T;
  }
  if (typeof value === "object" && value !== null) {
    const isFree = ["evidence", "environment", "facts"].includes(key);
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        isFree ? `${name}${payload}` : name,
        poisoned(item, payload, name),
      ]),
    ) as T;
  }
  return value;
}

/** Ten at a time: every payload is in every string, and a mount costs the same as with one. */
const BATCHES = Array.from({ length: 20 }, (_, at) =>
  PAYLOADS.slice(at * 10, at * 10 + 10).join(""),
);

const broken = vi.fn();
let view: View | null = null;

beforeEach(() => {
  vi.stubGlobal("broken", broken);
});

afterEach(() => {
  view?.destroy();
  view = null;
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

function expectHarmless(): void {
  const root = document.body;
  expect(
    root.querySelector("script, iframe, object, embed, img, svg [onload], a, style"),
  ).toBeNull();
  for (const node of root.querySelectorAll("*")) {
    for (const name of node.getAttributeNames()) {
      expect(name.startsWith("on")).toBe(false);
    }
  }
  expect(broken).not.toHaveBeenCalled();
}

function sweepOfSizes(): SerprofDocument {
  const doc = sampleSweep();
  const more = doc.points.map((point) => ({ ...point, size_bytes: 1_000 }));
  const ray = { variant: "ray", cold: false };
  const law = { ...ray, from_bytes: 1_000, to_bytes: 2_000, growth: "linear" } as const;
  const line = { ...law, fixed_ns: 9, ns_per_byte: 1 };
  const untold = { ...ray, from_bytes: 4_000, to_bytes: 5_000, growth: "cannot tell" } as const;
  const fits = [
    line,
    { ...line, from_bytes: 3_000, to_bytes: 4_000, cause: "fresh pages" },
    { ...untold, cause: "caches" },
  ];
  const crossovers = [{ title: "Ray overtakes", cold: false, from_bytes: 1_000, to_bytes: 2_000 }];
  return told({ ...doc, fits, crossovers, points: [...doc.points, ...more] });
}

describe("200 payloads in every string of a document", () => {
  const plain = { ...traceOf([{ start: 0, length: 9 }]), findings: sampleTrace().findings ?? [] };
  const trace = {
    ...plain,
    stages: plain.stages.map((stage, at) => ({ ...stage, parent: at < 2 ? "ray.store" : "" })),
    groups: [{ title: "x.sum()", start_ns: 0, end_ns: 71_300_000 }],
    waterfall: {
      ...plain.waterfall,
      rows: plain.waterfall.rows.map((row) => ({ ...row, group: 0 })),
    },
    tables: [
      {
        key: "tasks",
        title: "Tasks by prefix",
        note: "Quartiles",
        columns: [{ key: "prefix", title: "Prefix", unit: "text" }],
        rows: [["sum"], [7], [null]],
      },
    ],
  };

  const column = [0, 1];
  const anatomy = {
    name: "job",
    pickler: "cloudpickle",
    in_band_bytes: 9,
    out_of_band_bytes: 0,
    strings: ["job", "unpicklable"],
    parts: {
      label: column,
      kind: column,
      state: column,
      note: column,
      parent: [-1, 0],
      self_bytes: column,
      in_band_bytes: column,
      out_of_band_bytes: column,
      count: column,
      duration_ns: column,
    },
    notes: ["a note"],
  };
  const change = {
    stage: "",
    title: "Wall time",
    verdict: "faster" as const,
    variant: "ray",
    reason: "r",
  };
  const measured = { stage: "ray.store", before_ns: 9, after_ns: 3, low: 2, high: 4, pairs: 5 };
  const blamed = {
    ...trace,
    anatomies: [anatomy, anatomy],
    comparison: { before: "a", after: "b", changes: [change], method: "m", notes: ["n"] },
    findings: trace.findings.map((finding) => ({ ...finding, measured })),
  };

  it("are 200, all different", () => {
    expect(new Set(PAYLOADS).size).toBe(200);
    expect(BATCHES.join("")).toBe(PAYLOADS.join(""));
  });

  it.each([
    ["waterfall", trace],
    ["lanes", trace],
    ["table", trace],
    ["findings", trace],
    ["details", trace],
    ["anatomy", blamed],
    ["compare", blamed],
    ["waterfall", blamed],
    ["roundtrip", sampleSweep()],
    ["sweep", sweepOfSizes()],
    ["table", sampleSweep()],
  ])("run nowhere and become no element: %s", { timeout: 60_000 }, async (name, doc) => {
    for (const payload of BATCHES) {
      view = mount(document.body, poisoned<SerprofDocument>(doc, payload), { view: name });
      for (const summary of document.body.querySelectorAll("summary, .jsp-twisty")) {
        (summary as HTMLElement).click();
      }
      await Promise.resolve();
      expect(document.body.textContent).toContain("broken()");
      expectHarmless();
      const root = document.body.querySelector(".jsp-root") as HTMLElement;
      const picture = new DOMParser().parseFromString(svgOf(root, 9, 9), "text/html");
      expect(picture.querySelector("script, iframe, object, embed, img, a")).toBeNull();
      view.destroy();
    }
  });

  it("do so in a comparison too", { timeout: 60_000 }, () => {
    for (const payload of BATCHES) {
      const doc = poisoned(trace, payload);
      const compare = mountCompare(document.body, doc, doc);
      expectHarmless();
      compare.destroy();
    }
  });
});

describe("the sources", () => {
  const sources = import.meta.glob(["../src/**/*.ts", "!../src/hosts/**", "!../src/lab/**"], {
    query: "?raw",
    import: "default",
    eager: true,
  });

  it("never turn text into elements or code", () => {
    expect(Object.keys(sources).length).toBeGreaterThan(30);
    const banned =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|\beval\(|new Function|\.srcdoc/;
    for (const [path, text] of Object.entries(sources)) {
      expect(banned.test(text), path).toBe(false);
    }
  });

  it("know no framework and ask for nothing over the network", () => {
    const banned =
      /from "@jupyter|from "@lumino|ipywidgets|anywidget"|fetch\(|XMLHttpRequest|https?:\/\/(?!www\.w3\.org)/;
    for (const [path, text] of Object.entries(sources)) {
      expect(banned.test(text), path).toBe(false);
    }
  });

  it("are files of at most 400 lines, what is generated aside", () => {
    const written = Object.entries(sources).filter(([path]) => !path.endsWith("/schema.ts"));
    for (const [path, text] of written) {
      expect(text.split("\n").length, path).toBeLessThanOrEqual(400);
    }
  });
});
