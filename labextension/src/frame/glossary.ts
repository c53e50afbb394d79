/** The words on the screen, one line each: stages with what they contain, and terms. */

import type { SerprofDocument } from "../document/document";
import { stagesOf } from "../sweep/series";

const TERMS: readonly [string, string][] = [
  ["stage", "a named step on the way of the data; none explains what is unaccounted"],
  ["wall time", "what a clock on the wall shows, from the start to the end"],
  ["self", "wall time that a stage owns; the column adds up to the whole"],
  ["busy", "time in a stage, waits too, also in parallel; it does not add up"],
  ["share", "part of the whole, in per cent"],
  ["bytes", "size of the data that a stage handled"],
  ["rate", "bytes a second of a stage that copies them"],
  ["lane", "who did it: a thread of your program, the scheduler, a worker thread"],
  ["worker thread", "runs one task at a time; it is busy while one computes"],
  ["wait", "nothing but waiting for somebody else: grey, not a colour"],
  ["first task", "when the first task began on a worker"],
  ["critical path", "what the end of the run waited for, step by step"],
  ["clock uncertainty", "how far the clock of another machine may be off"],
  ["variant", "one way to send the same value"],
  ["total", "wall time of the run that counts, with its stages the bar"],
  ["vs fastest", "times the fastest: ≈ as fast as that, ? a guess, ‡ some fast, some slow"],
  ["gain", "times faster than what it would replace"],
  ["spread", "from the fastest to the slowest run; of four and more the middle half"],
  ["after / before", "below 1 what came after is faster"],
  ["95 % interval", "the ratio lies in it, in 19 of 20 such comparisons"],
  ["noise", "how far runs of the same code lie apart by themselves"],
  ["network", "a link as fast as you choose: its time is computed, not measured"],
  ["aliases the original", "the result is the very memory of the value: nothing was moved"],
  ["verdict", "faster or slower only where the runs make it sure"],
  ["part", "an object inside of the one that was pickled, by its path"],
  ["warm", "a run after the first one: imports and memory are there already"],
  ["cold", "the first run, which pays for them"],
  ["unaccounted", "wall time that no stage explains; never spread over the others"],
  ["in-band", "bytes inside the pickle itself: they are copied"],
  ["out-of-band", "buffers beside the pickle (protocol 5), handed over as they are"],
  ["zero-copy", "the result uses memory that is there already: nothing was copied"],
  ["page faults", "memory pages that the system had to provide; each takes time"],
  ["memcpy", "a plain copy of as many bytes: the measured speed limit of this machine"],
  ["vs memcpy", "times as long as a plain copy of as many bytes"],
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
