/** Runs in the browser: mounts documents, moves them about, and sends back how long it took. */

import type { DrawnTrace } from "../src/document/document";
import { mount } from "../test/every";
import { anatomyOf, documentOf } from "./documents";

const CASES = [
  { spans: 10_000, workers: 16 },
  { spans: 100_000, workers: 16 },
  { spans: 1_000_000, workers: 16 },
];
/** As a file that somebody wrote without packing; with so many spans it has 50 MB. */
const LARGE = { spans: 1_600_000, workers: 16 };
const ROUNDS = 5;
const FRAMES = 60;
/** In and out again, so that every zoom level is met. */
const ZOOM = ["w", "w", "w", "w", "w", "w", "s", "s", "s", "s", "s", "s"];
const PAN = ["d", "d", "d", "a", "a", "a"];

const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));

interface Measured {
  readonly spans: number;
  /** Milliseconds, one for each round. */
  readonly waterfall: number[];
  readonly lanes: number[];
  /** Milliseconds, one for each frame. */
  readonly zoom: number[];
  readonly pan: number[];
}

async function measure(spans: number, doc: DrawnTrace): Promise<Measured> {
  const result: Measured = { spans, waterfall: [], lanes: [], zoom: [], pan: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = place();
    const began = performance.now();
    const early = mount(first, doc, { view: "waterfall" });
    await painted(() => first.querySelector(".jsp-bar") !== null);
    result.waterfall.push(performance.now() - began);
    early.destroy();
    await rest();

    const second = place();
    const again = performance.now();
    const view = mount(second, doc, { view: "lanes" });
    // The canvas gets its size with its first painting.
    await painted(() => (canvasOf(second)?.width ?? 0) > 300);
    result.lanes.push(performance.now() - again);
    result.zoom.push(...(await moved(second, ZOOM)));
    result.pan.push(...(await moved(second, PAN)));
    view.destroy();
    await rest();
  }
  return result;
}

function place(): HTMLElement {
  const node = document.createElement("div");
  node.style.width = "1100px";
  document.body.replaceChildren(node);
  return node;
}

function canvasOf(node: HTMLElement): HTMLCanvasElement | null {
  return node.querySelector<HTMLCanvasElement>("canvas.jsp-canvas");
}

async function painted(isThere: () => boolean): Promise<void> {
  while (!isThere()) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await frame();
  await frame();
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 200));
}

async function moved(node: HTMLElement, keys: readonly string[]): Promise<number[]> {
  const canvas = canvasOf(node) as HTMLCanvasElement;
  const times: number[] = [];
  let last = await frame();
  for (let at = 0; at < FRAMES; at += 1) {
    const key = keys[at % keys.length] as string;
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  return times;
}

for (const { spans, workers } of CASES) {
  const result = await measure(spans, await documentOf(spans, workers));
  await fetch("/result", { method: "POST", body: JSON.stringify(result) });
}

/** First paint of an anatomy, inflating included. */
async function blame(parts: number): Promise<object> {
  const doc = { ...(await documentOf(100, 2)), anatomies: [await anatomyOf(parts)] };
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const node = place();
    const began = performance.now();
    const view = mount(node, doc, { view: "anatomy" });
    await painted(() => node.querySelector(".jsp-parts tbody tr") !== null);
    times.push(performance.now() - began);
    view.destroy();
    await rest();
  }
  return { parts, anatomy: times };
}

await fetch("/result", { method: "POST", body: JSON.stringify(await blame(10_000)) });

async function load(text: string, view: string): Promise<number> {
  const node = place();
  const began = performance.now();
  const mounted = mount(node, JSON.parse(text), { view });
  const isDrawn = (): boolean =>
    view === "lanes" ? (canvasOf(node)?.width ?? 0) > 300 : node.querySelector(".jsp-bar") !== null;
  await painted(isDrawn);
  const took = performance.now() - began;
  mounted.destroy();
  await rest();
  return took;
}

const text = JSON.stringify(await documentOf(LARGE.spans, LARGE.workers, false));
const large = { bytes: text.length, waterfall: [] as number[], lanes: [] as number[] };
for (let round = 0; round < ROUNDS; round += 1) {
  large.waterfall.push(await load(text, "waterfall"));
  large.lanes.push(await load(text, "lanes"));
}
await fetch("/result", { method: "POST", body: JSON.stringify(large) });
await fetch("/done", { method: "POST" });
