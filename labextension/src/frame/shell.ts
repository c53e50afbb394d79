/** The frame around the views of a document: head, view switch, search, help, readout. */

import { type Columns, decodeColumns } from "../document/decode";
import type { DrawnTrace, ReadDocument, SerprofDocument } from "../document/document";
import type { Host } from "../document/host";
import { radio } from "../kit/controls";
import { button, definitions, element, having } from "../kit/dom";
import { watchTheme } from "../kit/theme";
import { glossaryOf } from "./glossary";
import { head, saveMenu } from "./head";
import type { Entry, Help, Part, Stage, ViewSet } from "./part";

export interface Shell {
  destroy(): void;
}

export function shell(
  root: HTMLElement,
  { document: doc, source, warning }: ReadDocument,
  host: Host,
  views: ViewSet,
): Shell {
  const entries = views.flatMap((provide) => provide(doc));
  const panel = element("div", "jsp-panel");
  const readout = having(element("p", "jsp-hidden"), { "aria-live": "polite" });
  const help = element("section", "jsp-help");
  help.hidden = true;
  const search = searchBox((words) => part?.search?.(words));
  let part: Part | null = null;
  let shown = "";

  const open = (key: string): void => {
    const entry = entries.find((each) => each.key === key) ?? (entries[0] as Entry);
    if (entry.key === shown) {
      return;
    }
    part?.destroy?.();
    shown = entry.key;
    choice.set(shown);
    part = built(entry, stage);
    panel.replaceChildren(part.node);
    search.node.hidden = part.search === undefined;
    having(search.input, {
      "aria-label": part.searchLabel ?? SEARCH_SPANS,
      placeholder: part.search && part.searchLabel ? "Search parts" : "Search spans",
    });
    tell();
    part.paint?.();
  };
  const tell = async (): Promise<void> => {
    const words = help.hidden ? [] : await glossaryOf(doc, panel.innerText ?? "");
    help.replaceChildren(
      ...helpOf(part?.help ?? ROW_HELP),
      ...helpOf({ title: "Words:", keys: words }),
    );
    help.lastElementChild?.classList.add("jsp-words");
  };
  const stage: Stage = {
    host,
    columnsOf: rememberedColumns(),
    say: (text) => {
      readout.textContent = text;
    },
    focusSearch: () => search.input.focus(),
    toggleHelp: () => {
      help.hidden = !help.hidden;
      tell();
    },
    openView: open,
  };
  const choice = radio("View", "jsp-switch", entries, "", open);
  const tools = element("div", "jsp-switch-end", search.node, ...buttons(doc, source, stage));
  const note = warning === null ? [] : [element("p", "jsp-outcome", warning)];
  root.replaceChildren(head(doc, host), ...note);
  root.append(element("div", "jsp-bar-row", choice.node, tools), help, panel, readout);
  open(host.view ?? "");

  const repaint = (): void => {
    if (panel.clientWidth === 0) {
      // A notebook takes an output off the page for a moment: observed anew, its size is told again.
      sizes.unobserve(panel);
      sizes.observe(panel);
    }
    part?.paint?.();
  };
  const sizes = new ResizeObserver(() => requestAnimationFrame(repaint));
  sizes.observe(panel);
  const stopWatching = watchTheme(root, repaint);
  return {
    destroy() {
      part?.destroy?.();
      sizes.disconnect();
      stopWatching();
    },
  };
}

const SEARCH_SPANS = "Search spans by name, stage or lane";

/** Of views that have no keys of their own. */
const ROW_HELP: Help = {
  title: "Keys, while a control has the focus:",
  keys: [
    ["Tab", "the next control"],
    ["← →", "fold and open a row, take the next choice"],
    ["Enter, Space", "press it"],
  ],
};

/** A view that fails says so; the others stay usable. */
function built(entry: Entry, stage: Stage): Part {
  try {
    return entry.build(stage);
  } catch (error) {
    const text = `This view cannot be drawn (${String(error)}). Another view may still work.`;
    return { node: element("p", "jsp-outcome", text) };
  }
}

function rememberedColumns(): (trace: DrawnTrace) => Promise<Columns> {
  const known = new WeakMap<DrawnTrace, Promise<Columns>>();
  return (trace) => {
    const promise = known.get(trace) ?? decodeColumns(trace);
    known.set(trace, promise);
    return promise;
  };
}

function searchBox(search: (words: string) => void) {
  const input = having(element("input", "jsp-search"), { type: "search" });
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => search(input.value), 120);
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      input.value = "";
      search("");
    }
  });
  return { node: element("span", "jsp-search-box", input), input };
}

function buttons(doc: SerprofDocument, source: unknown, stage: Stage): HTMLElement[] {
  const help = having(button("jsp-button", stage.toggleHelp, "?"), {
    "aria-label": "Keys and words",
  });
  return [saveMenu(stage.host, doc.name, source, stage.say), help];
}

function helpOf({ title, keys }: Help): HTMLElement[] {
  return [element("p", "jsp-note", title), definitions("jsp-keys", keys)];
}
