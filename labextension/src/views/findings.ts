/** Findings: one in full, the others one click away. */

import type { Finding, Scalar } from "../core/document";
import { element } from "../core/dom";
import * as format from "../core/format";
import type { Host } from "../core/host";

export function findings(list: readonly Finding[], host: Host): HTMLElement | null {
  const [first, ...others] = list;
  if (first === undefined) {
    return null;
  }
  const more = others.map((finding) => {
    const summary = element("summary", "", severity(finding), finding.title);
    return element("details", "jsp-more", summary, body(finding, host));
  });
  return element("section", "jsp-findings", card(first, host), ...more);
}

function card(finding: Finding, host: Host): HTMLElement {
  const title = element(
    "div",
    "jsp-finding-title",
    severity(finding),
    element("strong", "", finding.title),
    element("code", "jsp-rule", finding.rule),
  );
  const node = element("article", "jsp-finding", title, body(finding, host));
  node.dataset.severity = finding.severity;
  return node;
}

function severity(finding: Finding): HTMLElement {
  const node = element("span", "jsp-severity", finding.severity);
  node.dataset.severity = finding.severity;
  return node;
}

function body(finding: Finding, host: Host): HTMLElement {
  const facts = Object.entries(finding.evidence ?? {}).map(([key, value]) =>
    element("div", "", element("dt", "", labelOf(key)), element("dd", "", evidence(key, value))),
  );
  const gain = finding.gain == null ? null : `Measured: ${format.ratio(finding.gain)} faster`;
  return element(
    "div",
    "jsp-finding-body",
    facts.length > 0 ? element("dl", "jsp-evidence", ...facts) : null,
    finding.remedy ? remedy(finding.remedy, host) : null,
    gain === null ? null : element("p", "jsp-note", gain),
  );
}

function remedy(text: string, host: Host): HTMLElement {
  const button = element("button", "jsp-button", "Copy");
  button.type = "button";
  button.addEventListener("click", () => {
    Promise.resolve((host.copy ?? writeText)(text)).then(
      () => button.replaceChildren("Copied"),
      () => button.replaceChildren("Cannot copy here"),
    );
  });
  return element("div", "jsp-remedy", element("pre", "", text), button);
}

function writeText(text: string): Promise<void> {
  return navigator.clipboard.writeText(text);
}

const UNIT_ENDINGS: readonly [string, (value: number) => string][] = [
  ["_bytes_per_s", format.bytesPerSecond],
  ["_bytes", format.bytes],
  ["_ns", format.duration],
  ["_share", (value) => format.percent(value)],
  ["_ratio", format.ratio],
];

/** The unit ends the name of a piece of evidence; it says how to print it. */
export function evidence(key: string, value: Scalar): string {
  if (value === null) {
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
