/** Findings: severity, evidence, remedy. One below the picture, all in their own view. */

import type { Finding, Scalar, SerprofDocument } from "../document/document";
import * as format from "../document/format";
import type { Host } from "../document/host";
import { copyButton } from "../kit/clip";
import { button, coded, definitions, element, having, whyLink } from "../kit/dom";
import { measuredOf } from "./measured";
import type { Part, Stage } from "./part";

/** The remedy that stands above the picture: of the first finding that has one. */
export function firstRemedy(list: readonly Finding[], host: Host): HTMLElement | null {
  const first = list.find((finding) => finding.remedy);
  return first ? remedy(String(first.remedy), host) : null;
}

/** The picture, then of the first finding what is not above it; all are one click away. */
export function withFinding(part: Part, doc: SerprofDocument, stage: Stage): Part {
  const list = doc.findings ?? [];
  const [first, ...others] = list;
  if (first === undefined) {
    return part;
  }
  const isTold = String(doc.summary?.headline ?? "").includes(first.title);
  const rest = others.length > 0 ? more(others, stage) : null;
  const isAbove = list.find((finding) => finding.remedy) === first;
  const one = element("section", "jsp-findings", card(first, stage.host, isAbove, isTold), rest);
  return { ...part, node: element("div", "", part.node, one) };
}

function more(others: readonly Finding[], stage: Stage): HTMLElement {
  const open = button("jsp-link", () => stage.openView("findings"), `${others.length} more`);
  const next = others[0] as Finding;
  return element("p", "jsp-note", open, ": ", severity(next), ...coded(next.title));
}

export function findingsView(list: readonly Finding[], stage: Stage): Part {
  const cards = list.map((finding) => card(finding, stage.host));
  return { node: element("section", "jsp-findings", ...cards) };
}

/** A remedy above the picture is shown there only; so is a title that is in the headline. */
function card(finding: Finding, host: Host, isAbove = false, isTold = false): HTMLElement {
  const because = finding.because ? element("p", "", ...coded(String(finding.because))) : null;
  const name = isTold && because ? null : element("strong", "", ...coded(finding.title));
  const title = element(
    "div",
    "jsp-finding-title",
    severity(finding),
    name ?? because,
    element("code", "jsp-rule", String(finding.rule ?? "")),
    whyLink(finding.title, finding.page),
  );
  const said = name && (because ?? numbersOf(finding));
  const node = element("article", "jsp-finding", title, said, body(finding, host, isAbove));
  return having(node, { "data-severity": String(finding.severity) });
}

function severity(finding: Finding): HTMLElement {
  const node = element("span", "jsp-severity", String(finding.severity ?? "info"));
  return having(node, { "data-severity": String(finding.severity) });
}

/** The numbers behind a finding; null where there are none. */
export function numbersOf({ evidence: numbers }: Finding): HTMLElement | null {
  const facts = saidBy(numbers ?? {});
  return facts.length > 0 ? definitions("jsp-evidence", facts) : null;
}

/** Facts that are single values, each as label and text. */
export function saidBy(facts: object): [label: string, text: string][] {
  return Object.entries(facts)
    .filter(([, value]) => value === null || typeof value !== "object")
    .map(([key, value]) => [labelOf(key), evidence(key, value as Scalar)]);
}

function body(finding: Finding, host: Host, isAbove: boolean): HTMLElement {
  const gain =
    measuredOf(finding)?.text ??
    (finding.gain == null ? null : `Measured: ${format.ratio(finding.gain)} faster`);
  return element(
    "div",
    "jsp-finding-body",
    finding.remedy && !isAbove ? remedy(String(finding.remedy), host) : null,
    gain === null ? null : element("p", "jsp-note", gain),
  );
}

/** Code to copy; all of it is seen at any width. */
export function remedy(text: string, host: Host): HTMLElement {
  const copy = copyButton(host, "Copy", () => text);
  return element("div", "jsp-remedy", element("pre", "", text), copy);
}

// Print a value by the unit that ends its name.
const UNIT_ENDINGS: readonly [string, (value: number) => string][] = [
  ["_bytes_per_s", format.bytesPerSecond],
  ["_bytes", format.bytes],
  ["_ns", format.duration],
  ["_share", (value) => format.percent(value)],
  ["_ratio", format.ratio],
];

/** The unit ends the name of a piece of evidence; it says how to print it. */
export function evidence(key: string, value: Scalar): string {
  if (value == null) {
    return format.NOT_SEEN;
  }
  if (typeof value !== "number") {
    return String(value);
  }
  const ending = UNIT_ENDINGS.find(([end]) => key.endsWith(end) || key === end.slice(1));
  return ending === undefined ? format.count(value) : ending[1](value);
}

export function labelOf(key: string): string {
  const ending = UNIT_ENDINGS.find(([end]) => key.endsWith(end));
  const words = ending === undefined ? key : key.slice(0, key.length - ending[0].length);
  return words.replaceAll("_", " ");
}
