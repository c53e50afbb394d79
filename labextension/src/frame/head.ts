/** The headline sentence, the remedy and the line of facts: what is read first; and what is last. */

import { type DrawnTrace, hasWaterfall, type SerprofDocument } from "../document/document";
import { count, moment } from "../document/format";
import type { Host } from "../document/host";
import { fileName, pictureOf, saveFile } from "../kit/clip";
import { button, coded, element, having } from "../kit/dom";
import { summaryBar } from "../waterfall/waterfall";
import { firstRemedy } from "./findings";

/** How busy the workers were, what is compared: one line. */
const FACTS_ABOVE = 2;

export function head(doc: SerprofDocument, host: Host): HTMLElement {
  const headline = headlineOf(doc.summary?.headline ?? doc.name);
  const said = factsOf(doc).map((fact) => element("span", "", ...coded(fact)));
  const facts = said.length > 0 ? element("p", "jsp-facts", ...said.slice(0, FACTS_ABOVE)) : null;
  const first = firstRemedy(doc.findings ?? [], host);
  const bar = isOfTime(doc) ? summaryBar(doc) : null;
  return element("div", "jsp-head", headline, bar, outcome(doc), first, facts, warning(doc));
}

/** Whether its headline tells of the waterfall: then the summary bar is below that, as it grew. */
export const isOfTime = (doc: SerprofDocument): doc is DrawnTrace =>
  doc.format === "serprof.trace" && hasWaterfall(doc) && !doc.anatomies?.length && !doc.comparison;

/** How good the numbers are, and facts that need not be read first: in a view of their own. */
export function sentencesOf(doc: SerprofDocument): string[] {
  const { quality, summary } = doc;
  const lost = quality?.spans_dropped ?? 0;
  return [
    ...factsOf(doc).slice(FACTS_ABOVE),
    ...(summary?.details ?? []),
    ...(lost > 0
      ? [`${count(lost)} spans were dropped; their time went to what encloses them.`]
      : []),
    ...(quality?.notes ?? []),
  ];
}

export function headlineOf(text: string): HTMLElement {
  return having(element("p", "jsp-headline", ...coded(text)), { role: "heading", "aria-level": 3 });
}

/** Python writes the facts; a document without them still says when and with what it was recorded. */
function factsOf(doc: SerprofDocument): string[] {
  if (doc.summary != null) {
    return [...(doc.summary.facts ?? [])];
  }
  const probes = (doc.quality?.probes ?? []).filter(({ version }) => version != null);
  const recorded = `recorded ${moment(doc.started)}`;
  return [recorded, ...probes.map(({ name, version }) => `${name} ${version}`)];
}

function outcome(doc: SerprofDocument): HTMLElement | null {
  const isTold = / until (the error|Ctrl-C)/.test(doc.summary?.headline ?? "");
  if (doc.format !== "serprof.trace" || doc.outcome === "ok" || isTold) {
    return null;
  }
  const how = doc.outcome === "interrupted" ? "interrupted" : "ended with an error";
  return element("p", "jsp-outcome", `${how}: what was measured until then`);
}

function warning(doc: SerprofDocument): HTMLElement | null {
  const text = "This document has no waterfall: nobody added up its spans. They are on the lanes.";
  // Parts of a pickle were counted without a run.
  return doc.format === "serprof.trace" && !hasWaterfall(doc) && !doc.anatomies?.length
    ? element("p", "jsp-note", text)
    : null;
}

/** The menu that saves: the document, a picture of the view, and a page where the host can make one. */
export function saveMenu(
  host: Host,
  name: string,
  source: unknown,
  say: (text: string) => void,
): HTMLElement {
  const node = element("details", "jsp-menu", element("summary", "jsp-button", "Save"));
  const list = element("div", "jsp-menu-list");
  const add = (title: string, ending: string, make: () => Blob | Promise<Blob>): void => {
    const pressed = async (): Promise<void> => {
      try {
        saveFile(host, fileName(name, ending), await make());
        node.open = false;
      } catch {
        press.textContent = `${title}: not possible in this browser`;
        say(press.textContent);
      }
    };
    const press = button("jsp-button", pressed, title);
    list.append(press);
  };
  add("Document (JSON)", ".serprof.json", () => {
    return new Blob([JSON.stringify(source)], { type: "application/json" });
  });
  add("Picture (PNG)", ".png", () => pictureOf(node.closest(".jsp-root") as HTMLElement));
  const { page } = host;
  if (page) {
    add("Page (HTML)", ".html", () => page(source));
  }
  node.append(list);
  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      node.open = false;
      node.querySelector("summary")?.focus();
    }
    event.stopPropagation();
  });
  return node;
}
