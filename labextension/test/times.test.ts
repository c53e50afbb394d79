/** Times and shares are those that Python tells. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Heading, Row, Runs } from "../src/document/document";
import { percent } from "../src/document/format";
import { seriesOf } from "../src/sweep/series";
import { columnsOf } from "../src/waterfall/columns";
import { type BlockNode, type Node, outlineOf, rowsIn } from "../src/waterfall/outline";
import { mount } from "./every";
import { sampleSweep, sampleTrace, silentHost } from "./sample";

interface Share {
  readonly self_ns: number;
  readonly wall_ns: number;
  /** As a table has it, and as a sentence has it. */
  readonly share: string;
  readonly whole: string;
}

const SHARES: readonly Share[] = JSON.parse(readFileSync("../tests/data/shares.json", "utf8"));

interface Times {
  readonly wall_ns: number;
  readonly rows: readonly number[];
  readonly outline: (number | Heading)[];
  /** What Python prints with everything opened, and with small lines told together. */
  readonly opened: readonly string[];
  readonly shown: readonly string[];
}

const TIMES: readonly Times[] = JSON.parse(readFileSync("../tests/data/columns.json", "utf8"));

describe("the times of a waterfall", () => {
  it.each(TIMES)("$wall_ns, $rows", ({ opened, outline, rows, shown, wall_ns }) => {
    const trace = sampleTrace();
    const own = rows.map((ns) => ({ ...(trace.waterfall.rows[0] as Row), self_ns: ns }));
    const unaccounted_ns = rows.reduce((rest, ns) => rest - ns, wall_ns);
    const drawn = { ...trace, wall_ns, waterfall: { rows: own, unaccounted_ns, outline } };
    const self = columnsOf(drawn)[0] as ReturnType<typeof columnsOf>[number];
    // Parts of which none takes a hundredth are drawn when somebody opens them.
    const isTold = (node: BlockNode): boolean =>
      node.kind === "stage" && rowsIn(node).some(({ row }) => 100 * row.self_ns >= wall_ns);
    const printed = (node: Node): string[] =>
      node.kind === "row"
        ? [self.text(node.row, node.position)]
        : [self.sum(rowsIn(node)), ...(isTold(node) ? node.nodes.flatMap(printed) : [])];
    expect([...own.map(self.text), self.rest]).toEqual(opened);
    expect([...outlineOf(drawn).flatMap(printed), self.rest]).toEqual(shown);
  });
});

describe("the time of runs", () => {
  it("is what the document tells of them, in the table and on the curve", () => {
    const doc = sampleSweep();
    const [known] = (doc.runs ?? []).filter(({ cold }) => !cold);
    const groups = "71.3 ms in 3 runs, 90.0 ms in 2";
    const runs: Runs = { ...(known as Runs), middle: 3, quartiles_ns: [1e6, 2e6], groups };
    const both = [
      { ...doc, runs: [runs] },
      { ...doc, runs: [{ ...runs, groups: "" }] },
    ].map((each) => {
      const view = mount(document.body, each, silentHost);
      const table = document.body.querySelector(".jsp-sweep table")?.textContent ?? "";
      view?.destroy();
      return [table.replaceAll("\u00a0", " "), seriesOf(each, "ray", false)] as const;
    });
    expect(both[0]?.[0]).toContain(groups);
    expect(both[1]?.[0]).toContain("1.00 ms to 2.00 ms");
    const [point] = both[1]?.[1] ?? [];
    expect(point).toMatchObject({ median_ns: 90_000_000, low_ns: 1e6, high_ns: 2e6, count: 5 });
  });

  it.each([{ middle: 99 }, { points: [] }, { quartiles_ns: ["x"] }, { stages: { a: "b" } }])(
    "of damaged runs is not drawn: %j",
    (damage) => {
      const doc = sampleSweep();
      const runs = (doc.runs ?? []).map((each) => ({ ...each, ...damage }));
      const view = mount(document.body, { ...doc, runs } as object, silentHost);
      expect(document.body.querySelectorAll(".jsp-sweep .jsp-run")).toHaveLength(0);
      view?.destroy();
    },
  );
});

describe("the share of a row", () => {
  it.each(SHARES)("$self_ns of $wall_ns", ({ self_ns, share, wall_ns, whole }) => {
    const trace = sampleTrace();
    const row: Row = { ...(trace.waterfall.rows[0] as Row), self_ns };
    const waterfall = { rows: [row], unaccounted_ns: wall_ns - self_ns };
    const column = columnsOf({ ...trace, wall_ns, waterfall })[1];
    expect(column?.text(row, 0)).toBe(share);
    expect(column?.sum([{ kind: "row", row, position: 0, isRest: false }])).toBe(share);
    expect(percent(self_ns / wall_ns, 0).replaceAll("\u00a0", " ")).toBe(whole);
  });
});
