import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { MIME_TYPE } from "../src/document/document";
import mime from "../src/hosts/mime";
import { anywidget } from "./every";
import { sampleSweep, sampleTrace, told } from "./sample";
import { soon } from "./soon";

afterEach(() => {
  document.body.replaceChildren();
});

/** What anywidget hands over; `fire` does what a message of the kernel does. */
function modelOf(doc: unknown) {
  const traits: Record<string, unknown> = { view: "" };
  const handlers = new Map<string, ((...values: unknown[]) => void)[]>();
  const show = (value: unknown): void => {
    traits.document = new DataView(new TextEncoder().encode(JSON.stringify(value)).buffer);
  };
  show(doc);
  return {
    get: (name: string) => traits[name],
    on: (event: string, handler: (...values: unknown[]) => void) =>
      void handlers.set(event, [...(handlers.get(event) ?? []), handler]),
    off: () => undefined,
    fire: (event: string, ...values: unknown[]) => {
      for (const handler of handlers.get(event) ?? []) {
        handler(...values);
      }
    },
    show,
  };
}

function choices(place: Element): HTMLElement[] {
  return [...place.querySelectorAll<HTMLElement>(".jsp-switch [role=radio]")];
}

function chosen(place: Element): string | undefined {
  return choices(place).find((one) => one.getAttribute("aria-checked") === "true")?.textContent;
}

async function rendered(data: Record<string, unknown>) {
  const renderer = mime.rendererFactory.createRenderer({} as never);
  const render = (next: Record<string, unknown>): Promise<void> =>
    renderer.renderModel({ data: next, metadata: {} } as never);
  await render(data);
  document.body.append(renderer.node);
  return { node: renderer.node, render };
}

describe("a widget that is drawn again and again", () => {
  it("shows what is new and leaves the reader's view and focus", () => {
    const model = modelOf(sampleSweep());
    const place = document.createElement("div");
    document.body.append(place);
    anywidget.render({ model, el: place });
    const table = choices(place).find((one) => one.textContent === "Table");
    table?.click();
    table?.focus();

    model.show({ ...sampleSweep(), name: "grown" });
    model.fire("change:document");

    expect(place.textContent).toContain("grown");
    expect(chosen(place)).toBe("Table");
    expect(document.activeElement?.textContent).toBe("Table");
  });

  it("takes the first view where the chosen one is gone, and no focus that it had not", () => {
    const model = modelOf(sampleTrace());
    const place = document.createElement("div");
    document.body.append(place);
    anywidget.render({ model, el: place });
    choices(place)
      .find((one) => one.textContent === "Lanes")
      ?.click();

    model.show(sampleSweep());
    model.fire("change:document");

    expect(chosen(place)).toBe("Round trip");
    expect(document.activeElement).toBe(document.body);
  });

  it("opens the better view of a sweep with its second size, unless the reader chose", () => {
    const one = { ...sampleSweep(), kind: "sweep" } as const;
    const two = told({
      ...one,
      points: one.points.flatMap((point) => [
        point,
        { ...point, size_bytes: (point.size_bytes ?? 1) * 10 },
      ]),
    });
    for (const [choice, found] of [
      [null, "Sweep"],
      ["Table", "Table"],
    ]) {
      const model = modelOf(one);
      const place = document.createElement("div");
      anywidget.render({ model, el: place });
      choices(place)
        .find((each) => each.textContent === choice)
        ?.click();

      model.show(two);
      model.fire("change:document");

      expect(chosen(place)).toBe(found);
    }
  });

  it("keeps the findings although their count has changed", () => {
    const model = modelOf({ ...sampleTrace(), findings: sampleTrace().findings?.slice(1) });
    const place = document.createElement("div");
    anywidget.render({ model, el: place });
    choices(place)
      .find((one) => one.textContent?.startsWith("Findings"))
      ?.click();

    model.show(sampleTrace());
    model.fire("change:document");

    expect(chosen(place)).toBe(`Findings${sampleTrace().findings?.length}`);
  });
});

describe("keys, where the application hears of them first", () => {
  const heard = vi.fn();
  const listen = (event: Event): void => {
    const target = event.target as Element;
    if (target.closest("[data-lm-suppress-shortcuts]") === null) {
      heard((event as KeyboardEvent).key);
    }
  };

  beforeEach(() => {
    document.addEventListener("keydown", listen, true);
  });

  afterEach(() => {
    document.removeEventListener("keydown", listen, true);
    heard.mockClear();
  });

  function press(target: Element | null | undefined, key: string, more: KeyboardEventInit = {}) {
    heard.mockClear();
    target?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
    return heard.mock.calls.length > 0;
  }

  it.each(["mime", "anywidget"])("stay with the picture that uses them: %s", async (host) => {
    const place = document.createElement("div");
    document.body.append(place);
    let end: () => void;
    if (host === "mime") {
      const renderer = mime.rendererFactory.createRenderer({} as never);
      await renderer.renderModel({ data: { [MIME_TYPE]: sampleTrace() }, metadata: {} } as never);
      place.append(renderer.node);
      end = () => renderer.dispose();
    } else {
      end = anywidget.render({ model: modelOf(sampleTrace()), el: place });
    }
    const lanes = choices(place).find((one) => one.textContent === "Lanes");
    lanes?.click();
    const canvas = await soon(() => {
      const found = place.querySelector("[role=application]");
      expect(found).not.toBeNull();
      return found;
    });
    const help = place.querySelector("button[aria-label='Keys and words']");

    expect(["a", "d", "n", "0", "ArrowDown", "Escape"].map((key) => press(canvas, key))).toEqual(
      new Array(6).fill(false),
    );
    expect(press(canvas, "s", { ctrlKey: true })).toBe(true);
    expect(press(canvas, "F5")).toBe(true);
    expect(press(lanes, "ArrowDown")).toBe(false);
    expect(press(lanes, "b")).toBe(true);
    expect(press(help, "Enter")).toBe(false);
    expect(press(help, "b")).toBe(true);
    help?.setAttribute("aria-expanded", "false");
    expect(press(help, "ArrowRight")).toBe(false);
    expect(press(place.querySelector("input"), "b")).toBe(false);
    expect(press(place.querySelector("p"), "Enter")).toBe(true);

    end();
    document.body.append(canvas as Element);
    expect(press(canvas, "a")).toBe(true);
  });
});

describe("an output that cannot be drawn", () => {
  it("says so in a sentence and shows its text", async () => {
    const said = "Store <img src=x>\n  64 ms";
    const { node } = await rendered({ [MIME_TYPE]: { format: "?" }, "text/plain": said });
    expect(node.querySelector("[role=alert]")?.textContent).toContain("unknown format");
    expect(node.querySelector(":scope > pre")?.textContent).toBe(said);
    expect(node.querySelector("img")).toBeNull();
  });

  it("joins lines, as notebooks store them, and shows none where there are none", async () => {
    const lines = await rendered({ [MIME_TYPE]: 1, "text/plain": ["a\n", "b"] });
    expect(lines.node.querySelector(":scope > pre")?.textContent).toBe("a\nb");
    expect((await rendered({ [MIME_TYPE]: 1 })).node.querySelector(":scope > pre")).toBeNull();
  });

  it("hides the text when a document that can be drawn takes its place", async () => {
    const { node, render } = await rendered({ [MIME_TYPE]: 1, "text/plain": "old" });
    await render({ [MIME_TYPE]: sampleTrace(), "text/plain": "new" });
    expect(node.querySelector(":scope > pre")).toBeNull();
    expect(node.textContent).toContain("90 % is Store");
    await render({ [MIME_TYPE]: 2, "text/plain": "again" });
    expect(node.querySelectorAll(":scope > pre")).toHaveLength(1);
  });

  it("is told of a file that is no JSON, and draws one that is", async () => {
    const cut = JSON.stringify(sampleTrace()).slice(0, 99);
    for (const text of ["", "<b>hello</b>", cut]) {
      const { node } = await rendered({ [MIME_TYPE]: text });
      expect(node.querySelector("[role=alert]")?.textContent).toContain("no jupyter_serprof doc");
    }
    const { node } = await rendered({ [MIME_TYPE]: JSON.stringify(sampleTrace()) });
    expect(node.textContent).toContain("90 % is Store");
    expect(mime.dataType).toBe("string");
  });

  it("shows no text below a picture", async () => {
    const { node } = await rendered({ [MIME_TYPE]: sampleTrace(), "text/plain": "same" });
    expect(node.querySelector(":scope > pre")).toBeNull();
  });
});
