/** What is known about one span, as pairs of label and text. */

import type { Columns } from "../document/decode";
import type { TraceDocument } from "../document/document";
import * as format from "../document/format";
import { evidence, saidBy } from "../frame/findings";
import { definitions, element } from "../kit/dom";

export type Fact = readonly [label: string, text: string];

/** A sentence for the readout: stage, name, time, where. */
export function spanSentence(trace: TraceDocument, columns: Columns, span: number): string {
  const start = columns.start[span] as number;
  const lane = trace.lanes?.[columns.lane[span] as number]?.key ?? "an unknown lane";
  return `${titleOf(trace, columns, span)}: ${format.duration(columns.duration[span])} at ${format.duration(start)}, ${lane}`;
}

export function titleOf(trace: TraceDocument, columns: Columns, span: number): string {
  const stage = trace.stages?.[columns.stage[span] as number]?.title ?? "Unknown stage";
  const name = trace.strings?.[columns.name[span] as number];
  return name ? `${stage}: ${name}` : String(stage);
}

export function spanFacts(trace: TraceDocument, columns: Columns, span: number): Fact[] {
  const lane = trace.lanes?.[columns.lane[span] as number];
  const size = columns.size[span] as number;
  const calls = columns.calls?.[span] ?? Number.NaN;
  const length = columns.duration[span] as number;
  const error = lane?.clock_error_ns ?? 0;
  const rate = size >= 0 ? format.rateOf(size, length) : null;
  return [
    ["time", format.duration(length)],
    [
      "starts at",
      format.duration(columns.start[span]) + (error > 0 ? ` ±${format.duration(error)}` : ""),
    ],
    ["lane", String(lane?.key ?? format.NOT_SEEN)],
    ...causeOf(trace, columns, span),
    ...(size >= 0 ? [["bytes", format.bytes(size)] as const] : []),
    ...(rate === null ? [] : [["rate", format.bytesPerSecond(rate)] as const]),
    ...(calls > 0 ? [["calls", evidence("calls", calls)] as const] : []),
    ...saidBy(trace.details?.[String(span)] ?? {}),
  ];
}

/** What started it, when that was on another lane. */
function causeOf(trace: TraceDocument, columns: Columns, span: number): Fact[] {
  const cause = columns.parent[span] as number;
  const lane = columns.lane[cause];
  return cause < 0 || lane === columns.lane[span]
    ? []
    : [["caused by", `${titleOf(trace, columns, cause)}, ${trace.lanes?.[lane ?? -1]?.key}`]];
}

/** The card of a span: built when it is first needed. */
export interface Tooltip {
  show(title: string, facts: readonly Fact[], note: string | null, x: number, y: number): void;
  hide(): void;
}

const GAP = 14;

/** `frame` is the positioned element that the coordinates refer to. */
export function tooltipIn(frame: HTMLElement): Tooltip {
  let node: HTMLElement | null = null;
  return {
    show(title, facts, note, x, y) {
      node ??= frame.appendChild(element("div", "jsp-tip"));
      node.setAttribute("aria-hidden", "true");
      node.replaceChildren(
        element("strong", "", title),
        definitions("jsp-tip-facts", facts),
        ...(note === null ? [] : [element("p", "jsp-note", note)]),
      );
      node.hidden = false;
      const [wide, high] = [frame.clientWidth, frame.clientHeight];
      const left = x + GAP + node.offsetWidth > wide ? x - GAP - node.offsetWidth : x + GAP;
      node.style.left = `${Math.max(0, left)}px`;
      node.style.top = `${Math.max(0, Math.min(y + GAP, high - node.offsetHeight))}px`;
    },
    hide() {
      if (node !== null) {
        node.hidden = true;
      }
    },
  };
}
