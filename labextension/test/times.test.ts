/** Random runs, with the time that Python tells of them: the drawn table says the same. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Point } from "../src/core/document";
import { runsOf } from "../src/core/runs";
import { seriesOf } from "../src/core/series";
import { mount } from "../src/mount";
import { sampleSweep, silentHost } from "./sample";

interface Known {
  readonly walls_ns: readonly number[];
  readonly middle_ns: number;
  /** As a headline has it. */
  readonly said: string;
}

const KNOWN: readonly Known[] = JSON.parse(readFileSync("../tests/data/times.json", "utf8"));

function sweepOf(walls_ns: readonly number[]) {
  const doc = sampleSweep();
  const [warm] = doc.points.filter((point) => point.variant === "ray" && !point.cold);
  const points = walls_ns.map((wall_ns) => ({ ...(warm as Point), wall_ns, stages: {} }));
  return { ...doc, points, traces: [] };
}

describe("the time of runs", () => {
  it.each(KNOWN)("$said", ({ middle_ns, said, walls_ns }) => {
    const doc = sweepOf(walls_ns);
    const view = mount(document.body, doc, silentHost);
    const table = document.body.querySelector(".jsp-sweep table")?.textContent ?? "";
    view?.destroy();
    expect(table.replaceAll("\u00a0", " ")).toContain(said);
    expect(runsOf(doc, "ray")[0]?.point.wall_ns).toBe(middle_ns);
    const timed = walls_ns.every((ns) => ns > 0);
    expect(seriesOf(doc, "ray", false)[0]?.median_ns).toBe(timed ? middle_ns : 1);
  });
});
