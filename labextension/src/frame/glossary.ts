/** The words on the screen, one line each: stages with what they contain, and terms. */

import type { SerprofDocument } from "../document/document";
import { stagesOf } from "../sweep/series";
import type { Help } from "./part";

/** Stages with their notes, then terms: those that a text has; all for one that has none of them. */
export async function glossaryOf(doc: SerprofDocument, text: string): Promise<Help["keys"]> {
  const { default: terms } = await import("./glossary.json").catch(() => ({ default: {} }));
  const stages = doc.format === "serprof.sweep" ? [...stagesOf(doc).values()] : doc.stages;
  const notes = stages.flatMap((stage): [string, string][] =>
    stage?.note ? [[String(stage.title), String(stage.note)]] : [],
  );
  const all = [...new Map<string, string>([...notes, ...Object.entries(terms)])];
  const shown = all.filter(([word]) => text.toLowerCase().includes(word.toLowerCase()));
  return shown.length > 0 ? shown : all;
}
