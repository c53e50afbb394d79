/** The words on the screen, one line each: stages with what they contain, and terms. */

import type { SerprofDocument } from "../document/document";
import { stagesOf } from "../sweep/series";

const TERMS: readonly [string, string][] = [
  ["self", "wall time that a stage owns; the column adds up to the whole"],
  ["busy", "work in a stage, also in parallel; it does not add up"],
  ["share", "part of the wall time, in per cent"],
  ["bytes", "size of the data that a stage handled"],
  ["critical path", "what the end of the run waited for, step by step"],
  ["clock uncertainty", "how far the clock of another machine may be off"],
  ["warm", "a run after the first one: imports and memory are there already"],
  ["cold", "the first run, which pays for them"],
  ["unaccounted", "wall time that no stage explains; never spread over the others"],
  ["in-band", "bytes inside the pickle itself: they are copied"],
  ["out-of-band", "buffers beside the pickle (protocol 5), handed over as they are"],
  ["zero-copy", "the result uses memory that is there already: nothing was copied"],
  ["page faults", "memory pages that the system had to provide; each takes time"],
  ["memcpy", "a plain copy of as many bytes: the measured speed limit of this machine"],
];

/** Stages with their notes, then terms: those that a text has; all for one that has none of them. */
export function glossaryOf(doc: SerprofDocument, text: string): readonly [string, string][] {
  const stages = doc.format === "serprof.sweep" ? [...stagesOf(doc).values()] : doc.stages;
  const notes = stages.flatMap((stage): [string, string][] =>
    stage?.note ? [[String(stage.title), String(stage.note)]] : [],
  );
  const all = [...new Map([...notes, ...TERMS])];
  const shown = all.filter(([word]) => text.toLowerCase().includes(word.toLowerCase()));
  return shown.length > 0 ? shown : all;
}
