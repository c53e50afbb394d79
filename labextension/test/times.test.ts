/** Random runs, with the time that Python tells of them: the drawn table says the same. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Point, Row } from "../src/document/document";
import { percent } from "../src/document/format";
import { mount } from "../src/frame/place";
import { runsOf, seriesOf } from "../src/sweep/series";
import { columnsOf } from "../src/waterfall/columns";
import { sampleSweep, sampleTrace, silentHost } from "./sample";

interface Known {
  readonly walls_ns: readonly number[];
  readonly middle_ns: number;
  /** As a headline has it. */
  readonly said: string;
}

const KNOWN: readonly Known[] = JSON.parse(readFileSync("../tests/data/times.json", "utf8"));

interface Share {
  readonly self_ns: number;
  readonly wall_ns: number;
  /** As a table has it, and as a sentence has it. */
  readonly share: string;
  readonly whole: string;
}

const SHARES: readonly Share[] = JSON.parse(readFileSync("../tests/data/shares.json", "utf8"));

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

describe("the share of a row", () => {
  it.each(SHARES)("$self_ns of $wall_ns", ({ self_ns, share, wall_ns, whole }) => {
    const trace = sampleTrace();
    const row: Row = { ...(trace.waterfall.rows[0] as Row), self_ns };
    const waterfall = { rows: [row], unaccounted_ns: wall_ns - self_ns };
    const column = columnsOf({ ...trace, wall_ns, waterfall })[1];
    expect(column?.text(row, 0)).toBe(share);
    expect(column?.sum([{ row, position: 0 }])).toBe(share);
    expect(percent(self_ns / wall_ns, 0).replaceAll("\u00a0", " ")).toBe(whole);
  });
});
