/** What a pickle consists of: parts as columns, their children, and what is found in them. */

import { isPacked, numberColumn, numbersOf } from "../document/decode";
import type { Parts, Anatomy as Stored } from "../document/schema";

/** What a part is besides its bytes; a newer document may know more. */
export type State = "" | "shared" | "not opened" | "unpicklable";

/** By index of the part; 0 is the root. Unknown numbers are NaN. */
export interface Anatomy {
  readonly stored: Stored;
  readonly count: number;
  readonly parent: Int32Array;
  readonly inBand: Float64Array;
  readonly outOfBand: Float64Array;
  readonly own: Float64Array;
  readonly duration: Float64Array;
  /** How many equal neighbours are told as one. */
  readonly copies: Float64Array;
  label(part: number): string;
  kind(part: number): string;
  state(part: number): State;
  note(part: number): string;
  /** What cannot be pickled first, then the largest. */
  children(part: number): readonly number[];
  /** It, or something in it, cannot be pickled. */
  isBroken(part: number): boolean;
  readonly problem: string | null;
}

const TEXTS = ["label", "kind", "state", "note"] as const;
const NUMBERS = [
  "parent",
  "self_bytes",
  "in_band_bytes",
  "out_of_band_bytes",
  "count",
  "duration_ns",
] as const;
const KEYS = [...TEXTS, ...NUMBERS];
const STATES: readonly State[] = ["shared", "not opened", "unpicklable"];

type Lists = Readonly<Record<keyof Parts, Float64Array>>;

/** At once where no column is packed, so that small anatomies are drawn in the first frame. */
export function readAnatomy(stored: Stored): Anatomy | Promise<Anatomy> {
  const { parts } = stored;
  if (!KEYS.some((key) => isPacked(parts[key]))) {
    return anatomyOf(
      stored,
      KEYS.map((key) => numbersOf(parts[key])),
    );
  }
  const inflated = KEYS.map((key) => numberColumn(parts[key]).catch(() => new Float64Array(0)));
  return Promise.all(inflated).then((lists) => anatomyOf(stored, lists));
}

function anatomyOf(stored: Stored, columns: readonly Float64Array[]): Anatomy {
  const lists = Object.fromEntries(KEYS.map((key, at) => [key, columns[at]])) as Lists;
  const lengths = KEYS.map((key) => lists[key].length);
  const count = Math.min(...lengths);
  const parent = parentsOf(lists.parent, count);
  const [label, kind, state, note] = TEXTS.map(
    (key) =>
      (part: number): string =>
        String(stored.strings[lists[key][part] as number] ?? ""),
  ) as [Text, Text, Text, Text];
  const stateOf = (part: number): State => STATES.find((each) => each === state(part)) ?? "";
  const broken = new Uint8Array(count);
  for (let part = count - 1; part >= 0; part -= 1) {
    if (broken[part] === 1 || stateOf(part) === "unpicklable") {
      broken[part] = 1;
      // The root has no parent: what is written beside the end is lost.
      broken[parent[part] as number] = 1;
    }
  }
  const isBroken = (part: number): boolean => broken[part] === 1;
  const anatomy = {
    stored,
    count,
    parent,
    inBand: lists.in_band_bytes,
    outOfBand: lists.out_of_band_bytes,
    own: lists.self_bytes,
    duration: lists.duration_ns,
    copies: lists.count,
    label,
    kind,
    state: stateOf,
    note,
    isBroken,
    problem:
      count === Math.max(...lengths)
        ? null
        : `The columns of the parts have unequal lengths; ${count} parts are complete.`,
  };
  return { ...anatomy, children: childrenIn(anatomy) };
}

type Text = (part: number) => string;

/** A part stands behind what holds it; one that does not is put into the root. */
function parentsOf(list: Float64Array, count: number): Int32Array {
  const parent = new Int32Array(count);
  for (let part = 0; part < count; part += 1) {
    const value = list[part] as number;
    parent[part] = part === 0 ? -1 : value >= 0 && value < part ? value : 0;
  }
  return parent;
}

/** Ordered when first asked for: of 10,000 parts few are ever looked at. */
function childrenIn(anatomy: Omit<Anatomy, "children">): (part: number) => readonly number[] {
  const { count, parent, isBroken } = anatomy;
  const lists: number[][] = Array.from({ length: count }, () => []);
  for (let part = 1; part < count; part += 1) {
    lists[parent[part] as number]?.push(part);
  }
  const ordered = new Set<number>();
  const size = (part: number): number => bytesOf(anatomy, part);
  return (part) => {
    const list = lists[part] ?? [];
    if (!ordered.has(part)) {
      ordered.add(part);
      list.sort((a, b) => Number(isBroken(b)) - Number(isBroken(a)) || size(b) - size(a) || a - b);
    }
    return list;
  };
}

export function partsOf({ count }: Pick<Anatomy, "count">): number[] {
  return Array.from({ length: count }, (_, part) => part);
}

/** What the two kinds of bytes are: of a pickle, or of objects in stores. */
export const bandsOf = ({ stored }: Anatomy): [string, string] =>
  stored.pickler === "" ? ["not spilled", "spilled"] : ["in-band", "out-of-band"];

export function bytesOf(anatomy: Pick<Anatomy, "inBand" | "outOfBand">, part: number): number {
  return (anatomy.inBand[part] || 0) + (anatomy.outOfBand[part] || 0);
}

/** From the root to the part, both included. */
export function ancestry({ parent }: Pick<Anatomy, "parent">, part: number): number[] {
  const path: number[] = [];
  for (let at = part; at >= 0; at = parent[at] as number) {
    path.unshift(at);
  }
  return path;
}

/** Longer paths keep their ends: "job.layers…[3].w". */
const LONGEST_PATH = 24;

export function pathOf(anatomy: Anatomy, part: number): string {
  const steps = ancestry(anatomy, part).map(anatomy.label);
  return steps.length <= LONGEST_PATH
    ? steps.join("")
    : `${steps.slice(0, 4).join("")}…${steps.slice(-LONGEST_PATH + 4).join("")}`;
}

/** Parts whose path step, type, state or note has the words; the largest first. */
export function foundIn(anatomy: Anatomy, words: string): number[] {
  const wanted = words.trim().toLowerCase();
  const texts = [anatomy.label, anatomy.kind, anatomy.state, anatomy.note];
  const isFound = (part: number): boolean =>
    texts.some((text) => text(part).toLowerCase().includes(wanted));
  const found = partsOf(anatomy).filter(isFound);
  return found.sort((a, b) => bytesOf(anatomy, b) - bytesOf(anatomy, a));
}

/** What cannot be pickled, in the order of the pickle; not what only holds such a thing. */
export function brokenIn(anatomy: Anatomy): number[] {
  return partsOf(anatomy).filter((part) => anatomy.state(part) === "unpicklable");
}
