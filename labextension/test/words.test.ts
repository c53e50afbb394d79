/** Each word that can stand on the screen is plain, or has its line in the glossary. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import terms from "../src/frame/glossary.json";

const read = (name: string): string => readFileSync(`../${name}`, "utf8");
const STAGES: readonly { readonly title: string; readonly note?: string }[] = JSON.parse(
  read("jupyter_serprof/model/stages.json"),
);
/** Understood by who knows Python and has read one page about Dask or Ray. */
const PLAIN = new Set(read("tests/data/plain_words.txt").split(/\s+/));

/** Outside of code, which is the reader's own, and of the names of samples. */
function wordsOf(text: string): string[] {
  const plain = text.replaceAll(/`[^`]*`|\bOob|\bCloud|a{9,}/gi, " ").toLowerCase();
  return plain.match(/[a-z][a-z'-]+/g) ?? [];
}

/** What people reviewed: titles of findings, why, and what is said of a run. */
const SAID = {
  findings: read("tests/data/told/findings.txt").match(/^(warn|info| {2}because).*/gm) ?? [],
  summaries: read("tests/data/told/summaries.txt").match(/^[^=\n].*/gm) ?? [],
  growth: read("tests/data/told/growth.txt").match(/^[^=\n].*/gm) ?? [],
  stages: STAGES.map(({ title }) => title),
};

describe("the words of", () => {
  const known = new Set([...Object.keys(terms), ...SAID.stages].flatMap(wordsOf));

  it.each(Object.entries(SAID))("%s are plain or explained", (_, said) => {
    expect(said.length).toBeGreaterThan(10);
    const strange = said.flatMap(wordsOf).filter((word) => !PLAIN.has(word) && !known.has(word));
    expect([...new Set(strange)]).toEqual([]);
  });

  it("the glossary and of stages have one line each, in words that are no others", () => {
    const lines = [...Object.entries(terms), ...STAGES.map(({ note, title }) => [title, note])];
    for (const [word = "", line = ""] of lines) {
      expect(line.length, word).toBeGreaterThan(word.length / 2);
      expect(line.length, word).toBeLessThan(240);
      expect(line.toLowerCase(), word).not.toBe(word.toLowerCase());
    }
  });

  it("internals stand nowhere", () => {
    const inside = /\b(msgpack|materiali[sz]e|regime|anatomy|bookkeeping|walk(ed)?|wire|law)\b/i;
    const said = [...Object.values(SAID).flat(), ...Object.entries(terms).flat()];
    expect(said.filter((text) => inside.test(text.replaceAll(/`[^`]*`/g, "")))).toEqual([]);
  });
});
