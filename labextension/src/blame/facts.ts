/** What is known about one part of a pickle, as pairs of label and text, and as a sentence. */

import * as format from "../document/format";
import type { Fact } from "../lanes/facts";
import { type Anatomy, bytesOf, pathOf } from "./anatomy";
import type { Block } from "./layout";
import { bytesText } from "./paintparts";

/** What a state means for a reader. */
export const STATE_TEXTS = {
  "": "",
  shared: "shared, charged elsewhere",
  "not opened": "not opened",
  unpicklable: "cannot be pickled",
} as const;

export function shareOf(anatomy: Anatomy, part: number): number {
  const whole = bytesOf(anatomy, 0);
  return whole > 0 ? bytesOf(anatomy, part) / whole : 0;
}

export function known(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

export function partSentence(anatomy: Anatomy, part: number): string {
  const state = STATE_TEXTS[anatomy.state(part)];
  const texts = [
    pathOf(anatomy, part),
    anatomy.kind(part),
    `${bytesText(anatomy, part)}, ${format.percent(shareOf(anatomy, part))}`,
    state,
    anatomy.note(part),
    `${anatomy.children(part).length} parts inside`,
  ];
  return texts.filter((text) => text !== "").join(", ");
}

export function partFacts(anatomy: Anatomy, { part, together }: Block) {
  if (together > 1) {
    const holder = anatomy.parent[part] as number;
    const title = `${format.count(together)} smaller parts of ${pathOf(anatomy, holder)}`;
    return { title, facts: [] as Fact[], note: "Click to open what holds them." };
  }
  const state = STATE_TEXTS[anatomy.state(part)];
  const copies = anatomy.copies[part] as number;
  const facts: Fact[] = [
    ["type", anatomy.kind(part) || format.NOT_SEEN],
    ...(copies > 1 ? [["equal neighbours", format.count(copies)] as const] : []),
    ...(state === "" ? [] : [["state", state] as const]),
    ["bytes", bytesText(anatomy, part)],
    ["in-band", format.bytes(known(anatomy.inBand[part]))],
    ["out-of-band", format.bytes(known(anatomy.outOfBand[part]))],
    ["its own, without parts", format.bytes(known(anatomy.own[part]))],
    ["share", format.percent(shareOf(anatomy, part))],
    ["time to pickle", format.duration(known(anatomy.duration[part]))],
  ];
  return { title: pathOf(anatomy, part), facts, note: anatomy.note(part) || null };
}
