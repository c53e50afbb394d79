/** The parts of a pickle as a tree of rows with exact numbers: the twin of the icicle. */

import { known } from "../document/document";
import * as format from "../document/format";
import { openByRow, twisty } from "../kit/controls";
import { button, element, having, heading, titled } from "../kit/dom";
import type { Fact } from "../lanes/facts";
import { type Anatomy, bandsOf, bytesOf, pathOf } from "./anatomy";
import { type Block, bytesText, nameOf } from "./layout";

const PAGE = 50;
/** Rows that are open at first: parts of at least this share, and what cannot be pickled. */
const OPEN_SHARE = 0.15;
const MOST_OPEN = 12;

export interface Tree {
  readonly node: HTMLElement;
  /** Show what is inside a part; or, of a search, parts with their whole paths. */
  show(root: number): void;
  list(parts: readonly number[]): void;
}

/** `zoom` makes a part the root, `mark` points at it in the picture. */
export function partTree(
  anatomy: Anatomy,
  zoom: (part: number) => void,
  mark: (part: number) => void,
): Tree {
  const scale = format.columnScale(known(anatomy.duration[0]) ?? 0);
  const hasTimes = anatomy.duration.some((each) => !Number.isNaN(each));
  const body = element("tbody", "");
  let openCount = 0;

  const rowOf = (part: number, depth: number, name: string): HTMLTableRowElement => {
    const row = element("tr", "", ...cellsOf(anatomy, part, name, hasTimes ? scale : null));
    row.style.setProperty("--jsp-depth", String(depth));
    row.addEventListener("pointerenter", () => mark(part));
    row.addEventListener("focusin", () => mark(part));
    return row;
  };
  /** The row, and those below it as far as they are open. */
  const rowsOf = (part: number, depth: number): HTMLElement[] => {
    const row = rowOf(part, depth, nameOf(anatomy, part));
    if (anatomy.children(part).length === 0) {
      return [row];
    }
    let below: HTMLElement[] = [];
    const isOpen =
      openCount < MOST_OPEN &&
      (depth === 0 || shareOf(anatomy, part) >= OPEN_SHARE || anatomy.isBroken(part));
    const fold = twisty(`Parts of ${pathOf(anatomy, part)}`, isOpen, () => {
      for (const each of below) {
        each.remove();
      }
      below = fold.isOpen() ? inside(part, depth + 1, 0, (rows) => below.push(...rows)) : [];
      row.after(...below);
    });
    openByRow(row, fold);
    if (isOpen) {
      openCount += 1;
      below = inside(part, depth + 1, 0, (rows) => below.push(...rows));
    }
    return [row, ...below];
  };
  /** Some of the parts inside, and a row that shows the next ones. */
  const inside = (
    part: number,
    depth: number,
    from: number,
    added: (rows: readonly HTMLElement[]) => void,
  ): HTMLElement[] => {
    const all = anatomy.children(part);
    const rows = all.slice(from, from + PAGE).flatMap((each) => rowsOf(each, depth));
    const left = all.length - from - PAGE;
    if (left > 0) {
      const last = moreRow(left, depth, () => {
        const next = inside(part, depth, from + PAGE, added);
        added(next);
        last.replaceWith(...next);
      });
      rows.push(last);
    }
    return rows;
  };

  const node = element(
    "table",
    "jsp-table jsp-parts",
    element("caption", "jsp-hidden", `Parts of ${anatomy.label(0)}`),
    headRow(anatomy, hasTimes ? scale : null),
    body,
  );
  return {
    node,
    show(root) {
      openCount = 0;
      body.replaceChildren(...(anatomy.count > 0 ? rowsOf(root, 0) : []));
    },
    list(parts) {
      const rows = parts.slice(0, PAGE).map((part) => {
        const row = rowOf(part, 0, "");
        const link = button("jsp-link", () => zoom(part), pathOf(anatomy, part));
        row.querySelector(".jsp-part-name")?.append(link);
        return row;
      });
      const left = parts.length - PAGE;
      const rest = left > 0 ? [noteRow(`and ${format.count(left)} smaller ones`)] : [];
      body.replaceChildren(...rows, ...rest);
    },
  };
}

function moreRow(left: number, depth: number, more: () => void): HTMLElement {
  const pressed = (event: Event): void => {
    event.stopPropagation();
    more();
  };
  const row = noteRow(
    button("jsp-button", pressed, `Show more (${format.count(left)} parts left)`),
  );
  row.style.setProperty("--jsp-depth", String(depth));
  return row;
}

function noteRow(content: HTMLElement | string): HTMLElement {
  const cell = having(element("td", "jsp-stage", content), { colspan: 8 });
  return element("tr", "jsp-parts-more", cell);
}

type Scale = ReturnType<typeof format.columnScale>;

function headRow(anatomy: Anatomy, scale: Scale | null): HTMLElement {
  const cells = [
    heading("col", "jsp-stage", "part"),
    heading("col", "jsp-stage jsp-part-kind", "type"),
    heading("col", "jsp-number", "bytes"),
    ...bandsOf(anatomy).map((band) => heading("col", "jsp-number jsp-part-band", band)),
    heading("col", "jsp-number", "share %"),
    heading("col", "jsp-part-plot", "of the whole"),
    scale && heading("col", "jsp-number jsp-part-time", `pickle ${scale.unit}`),
  ];
  return element("thead", "", element("tr", "", ...cells));
}

function cellsOf(anatomy: Anatomy, part: number, name: string, scale: Scale | null): HTMLElement[] {
  const state = anatomy.state(part);
  const note = anatomy.note(part);
  const [bad, cross] = state === "unpicklable" ? [" jsp-bad", "✕ "] : ["", ""];
  const badge =
    state === "" ? null : element("span", `jsp-badge${bad}`, cross + STATE_TEXTS[state]);
  const head = heading("row", "jsp-stage", element("code", "jsp-part-name", name));
  const remark = note === "" ? null : element("span", "jsp-part-note", note);
  const type = element("span", "", anatomy.kind(part));
  const kind = element("td", "jsp-stage jsp-part-kind", type, badge, remark);
  const time = known(anatomy.duration[part]);
  // A placeholder of ours, or never measured: an interrupt came first.
  const unknown = state === "unpicklable" ? format.NOT_APPLICABLE : format.NOT_SEEN;
  const isUnknown =
    state === "unpicklable" || (state === "not opened" && bytesOf(anatomy, part) === 0);
  const exact = (value: number | undefined): string =>
    isUnknown ? unknown : format.count(known(value));
  const share = format.fixed(shareOf(anatomy, part) * 100, 1);
  const timeText =
    time === null || scale === null
      ? format.NOT_APPLICABLE
      : format.fixed(time / scale.unitNs, scale.decimals);
  return [
    head,
    titled(kind, note),
    element("td", "jsp-number", exact(bytesOf(anatomy, part))),
    element("td", "jsp-number jsp-part-band", exact(anatomy.inBand[part])),
    element("td", "jsp-number jsp-part-band", exact(anatomy.outOfBand[part])),
    element("td", "jsp-number", isUnknown ? unknown : share),
    element("td", "jsp-part-plot", barOf(anatomy, part)),
    ...(scale === null ? [] : [element("td", "jsp-number jsp-part-time", timeText)]),
  ];
}

function barOf(anatomy: Anatomy, part: number): HTMLElement {
  const whole = bytesOf(anatomy, 0) || 1;
  const piece = (className: string, bytes: number | undefined): HTMLElement | null => {
    if (!bytes) {
      return null;
    }
    const node = element("span", `jsp-pickle ${className}`);
    node.style.width = `${((bytes / whole) * 100).toFixed(2)}%`;
    return node;
  };
  const pieces = [piece("", anatomy.inBand[part]), piece("jsp-oob", anatomy.outOfBand[part])];
  return having(element("div", "jsp-part-bar", ...pieces), { "aria-hidden": "true" });
}

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

/** Title, facts and note of a tooltip. */
export function partFacts(
  anatomy: Anatomy,
  { part, together }: Block,
): [string, Fact[], string | null] {
  if (together > 1) {
    const holder = anatomy.parent[part] as number;
    const title = `${format.count(together)} smaller parts of ${pathOf(anatomy, holder)}`;
    return [title, [], "Click to open what holds them."];
  }
  const state = STATE_TEXTS[anatomy.state(part)];
  const copies = anatomy.copies[part] as number;
  const [inside, beside] = bandsOf(anatomy);
  const facts: Fact[] = [
    ["type", anatomy.kind(part) || format.NOT_SEEN],
    ...(copies > 1 ? [["equal neighbours", format.count(copies)] as const] : []),
    ...(state === "" ? [] : [["state", state] as const]),
    ["bytes", bytesText(anatomy, part)],
    [inside, format.bytes(known(anatomy.inBand[part]))],
    [beside, format.bytes(known(anatomy.outOfBand[part]))],
    ["its own, without parts", format.bytes(known(anatomy.own[part]))],
    ["share", format.percent(shareOf(anatomy, part))],
    ["time to pickle", format.duration(known(anatomy.duration[part]))],
  ];
  return [pathOf(anatomy, part), facts, anatomy.note(part) || null];
}
