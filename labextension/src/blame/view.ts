/** Blame: what a pickle consists of, as an icicle and as a tree; what cannot be pickled first. */

import { type DrawnTrace, known } from "../document/document";
import * as format from "../document/format";
import { withFinding } from "../frame/findings";
import { legendEntry } from "../frame/legend";
import { entry, type Part, type Provider, type Stage } from "../frame/part";
import { chooser, radio } from "../kit/controls";
import { button, element, folded, having } from "../kit/dom";
import { grid, numberColumn, wordColumn } from "../kit/grid";
import {
  type Anatomy,
  ancestry,
  bandsOf,
  brokenIn,
  bytesOf,
  foundIn,
  partsOf,
  pathOf,
  readAnatomy,
} from "./anatomy";
import { icicle } from "./icicle";
import { bytesText, type Look } from "./layout";
import { partTree, STATE_TEXTS, shareOf } from "./tree";

/** How a note begins that says why parts were not opened. */
const WHY_CUT = ["interrupted", "the time budget"];
/** More of what cannot be pickled is in the tree. */
const MOST_BROKEN = 5;

const KEYS = [
  ["← →", "the part beside"],
  ["↑ ↓", "what holds it, what is inside"],
  ["Enter, click", "make it the root"],
  ["Esc", "one level up"],
  ["0", "the whole"],
  ["/", "search"],
] as const;

export const anatomyOf: Provider = (doc) =>
  doc.format === "serprof.trace" && doc.anatomies?.length
    ? entry("anatomy", "Blame", (stage) => withFinding(anatomyView(doc, stage), doc, stage))
    : [];

function anatomyView(trace: DrawnTrace, shared: Stage): Part {
  const stored = trace.anatomies ?? [];
  const place = element("div", "");
  let part: Part | null = null;
  let wanted = 0;
  const open = async (at: number): Promise<void> => {
    wanted = at;
    const read = readAnatomy(stored[at] as (typeof stored)[0]);
    // Without a wait where none is needed: it is drawn in the first frame.
    const anatomy = read instanceof Promise ? await read : read;
    if (wanted === at) {
      part?.destroy?.();
      part = anatomyPart(anatomy, shared);
      place.replaceChildren(part.node);
      part.paint?.();
    }
  };
  const choices = stored.map(({ name }, at) => ({ key: String(at), title: String(name ?? "") }));
  const objects = chooser("Object", choices, "0", (key) => void open(Number(key)));
  const choice = choices.length > 1 ? element("div", "jsp-controls", objects) : null;
  void open(0);
  return {
    node: element("section", "jsp-anatomy", choice, place),
    paint: () => part?.paint?.(),
    search: (words) => part?.search?.(words),
    searchLabel: "Search parts by path, type or note",
    help: { title: "Keys, while the icicle has the focus:", keys: KEYS },
    destroy: () => part?.destroy?.(),
  };
}

function anatomyPart(anatomy: Anatomy, shared: Stage): Part {
  if (anatomy.count === 0) {
    const none = "This anatomy has no parts: nothing was opened.";
    return { node: element("p", "jsp-note", anatomy.problem ?? none) };
  }
  const byBytes = (part: number): number => bytesOf(anatomy, part);
  const byTime = (part: number): number => anatomy.duration[part] || 0;
  const look: Look = {
    anatomy,
    root: 0,
    found: null,
    weight: byBytes,
    amount: (part) =>
      look.weight === byTime ? format.duration(byTime(part)) : bytesText(anatomy, part),
  };
  const trail = having(element("nav", "jsp-trail"), { "aria-label": "Path of what is shown" });
  const zoom = (part: number): void => {
    look.root = part;
    picture.mark(part);
    trail.replaceChildren(...trailOf(anatomy, part, zoom));
    tree.show(part);
    picture.paint?.();
    shared.say(`${pathOf(anatomy, part)}: ${bytesText(anatomy, part)}`);
  };
  const picture = icicle(look, shared, zoom);
  const tree = partTree(anatomy, zoom, picture.mark);
  const hits = element("p", "jsp-note");
  hits.hidden = true;
  const search = (words: string): void => {
    const found = words.trim() === "" ? null : foundIn(anatomy, words);
    look.found = found === null ? null : new Set(found);
    hits.hidden = found === null;
    hits.textContent = "";
    if (found === null) {
      tree.show(look.root);
    } else {
      const parts = found.length === 1 ? "part has" : "parts have";
      hits.textContent = `${format.count(found.length)} ${parts} “${words.trim()}”`;
      tree.list(found);
    }
    shared.say(hits.textContent);
    picture.paint?.();
  };
  const hasTimes = anatomy.children(0).some((part) => byTime(part) > 0);
  const kinds = ["Bytes", "Time"].map((title) => ({ key: title, title }));
  const weights = radio("Width", "jsp-segmented", kinds, "Bytes", (key) => {
    look.weight = key === "Time" ? byTime : byBytes;
    picture.paint?.();
  });
  trail.replaceChildren(...trailOf(anatomy, 0, zoom));
  tree.show(0);
  const node = element(
    "div",
    "",
    ...brokenList(anatomy, zoom),
    element("div", "jsp-trail-row", trail, hasTimes ? weights.node : null),
    picture.node,
    legend(anatomy),
    hits,
    element("div", "jsp-scroll", tree.node),
    element("p", "jsp-note", sumOf(anatomy)),
    ...notesOf(anatomy).map((note) => element("p", "jsp-note", note)),
    copies(anatomy, shared),
  );
  return { node, search, paint: () => picture.paint?.(), destroy: () => picture.destroy?.() };
}

/** Every step is a button, but the last one, which is shown. */
function trailOf(anatomy: Anatomy, part: number, zoom: (part: number) => void): HTMLElement[] {
  return ancestry(anatomy, part).map((step) => {
    const name = anatomy.label(step) || "(no name)";
    return step === part
      ? having(element("strong", "", name), { "aria-current": "true" })
      : button("jsp-link", () => zoom(step), name);
  });
}

/** Why the whole cannot be pickled: each culprit with its path. */
function brokenList(anatomy: Anatomy, zoom: (part: number) => void): HTMLElement[] {
  const broken = brokenIn(anatomy);
  if (broken.length === 0) {
    return [];
  }
  const items = broken.slice(0, MOST_BROKEN).map((part) => {
    const holder = Math.max(0, anatomy.parent[part] as number);
    const link = button("jsp-link", () => zoom(holder), pathOf(anatomy, part));
    const why = [anatomy.kind(part), anatomy.note(part)].filter((text) => text !== "").join(": ");
    return element("li", "", link, " ", element("span", "jsp-muted", why));
  });
  const left = broken.length - items.length;
  const parts = broken.length === 1 ? "One part" : `${format.count(broken.length)} parts`;
  return [
    element("p", "jsp-outcome", `✕ ${parts} cannot be pickled:`),
    element("ul", "jsp-broken", ...items),
    ...(left > 0 ? [element("p", "jsp-note", `and ${format.count(left)} more, marked ✕`)] : []),
  ];
}

function legend(anatomy: Anatomy): HTMLElement {
  const hasBuffers = (anatomy.stored.out_of_band_bytes || 0) > 0;
  const hasBroken = anatomy.isBroken(0);
  const isPickle = anatomy.stored.pickler !== "";
  const beside = isPickle ? "out-of-band: handed over as a buffer" : "spilled to disk";
  return element(
    "p",
    "jsp-legend",
    legendEntry("jsp-pickle", isPickle ? "in-band: copied into the pickle" : "not spilled"),
    hasBuffers ? legendEntry("jsp-pickle jsp-oob", beside) : null,
    legendEntry("jsp-container", "holds the parts below it"),
    hasBroken ? legendEntry("jsp-broken-sample", "cannot be pickled, or holds such a part") : null,
    element("span", "jsp-legend-end", "click a block to make it the root, Esc goes back"),
  );
}

/** "Rows include their children. Leaves 12 + containers 3 = 15 bytes". */
function sumOf(anatomy: Anatomy): string {
  const { in_band_bytes, out_of_band_bytes, pickler, plain_bytes, protocol } = anatomy.stored;
  const whole = (in_band_bytes || 0) + (out_of_band_bytes || 0);
  let [leaves, containers] = [0, 0];
  for (let part = 0; part < anatomy.count; part += 1) {
    if (anatomy.children(part).length === 0) {
      leaves += bytesOf(anatomy, part);
    } else {
      containers += anatomy.own[part] || 0;
    }
  }
  const sum = `Leaves ${format.count(leaves)} + containers ${format.count(containers)} = ${format.count(whole)} bytes${pickler === "" ? "" : ", the pickle and its buffers"}`;
  const by = pickler ? `; ${pickler}${protocol ? `, protocol ${protocol}` : ""}` : "";
  const plain = plain_bytes == null ? "" : `; plain dumps writes ${format.count(plain_bytes)}`;
  const adds = leaves + containers === whole ? sum : `${format.count(whole)} bytes in all`;
  return `Rows include their parts. ${adds}${by}${plain}.`;
}

function notesOf({ problem, stored }: Anatomy): string[] {
  const notes = (stored.notes ?? []).map(String);
  const isSaid = notes.some((note) => WHY_CUT.some((words) => note.startsWith(words)));
  const cut =
    stored.is_complete === false && !isSaid
      ? ["It ended before everything was opened: such parts are told as not opened."]
      : [];
  return [...(problem === null ? [] : [problem]), ...cut, ...notes];
}

/** All parts as one table; built when it is opened. */
function copies(anatomy: Anatomy, shared: Stage): HTMLElement {
  type Text = (part: number) => string;
  type Value = (part: number) => number | null;
  const [inside, beside] = bandsOf(anatomy);
  const words = (title: string, text: Text) => wordColumn(title, title, text);
  const number = (title: string, key: string, value: Value, print: (value: number) => string) =>
    numberColumn(title, key, value, print, format.NOT_SEEN);
  const columns = [
    words("path", (part) => pathOf(anatomy, part)),
    words("type", anatomy.kind),
    words("state", (part) => STATE_TEXTS[anatomy.state(part)]),
    number("bytes", "bytes", (part) => bytesOf(anatomy, part), format.count),
    number(inside, "in_band_bytes", (part) => known(anatomy.inBand[part]), format.count),
    number(beside, "out_of_band_bytes", (p) => known(anatomy.outOfBand[p]), format.count),
    number("share", "share", (part) => shareOf(anatomy, part), format.percent),
    number("time", "duration_ns", (part) => known(anatomy.duration[part]), format.duration),
    number("count", "count", (part) => known(anatomy.copies[part]), format.count),
    words("note", anatomy.note),
  ];
  const title = `All parts of ${anatomy.label(0)}`;
  return folded("All parts, to sort and copy", (node) =>
    node.append(grid(title, columns, partsOf(anatomy), shared.host)),
  );
}
