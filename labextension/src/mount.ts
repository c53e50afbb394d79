/** Draw a document into an element: the one entrance for every host. */

import { readDocument, type SerprofDocument, UnreadableDocument } from "./core/document";
import { element } from "./core/dom";
import { findings } from "./views/findings";
import { head } from "./views/head";
import { sweep } from "./views/sweep";
import { waterfall } from "./views/waterfall";

/** What the views may ask of the page around them. */
export interface Host {
  readonly name: "mime" | "anywidget" | "page";
  copyText(text: string): Promise<void>;
}

export interface View {
  update(document: unknown): void;
  destroy(): void;
}

export function mount(container: HTMLElement, document: unknown, host: Host): View {
  const root = element("div", "jsp-root");
  root.dataset.host = host.name;
  container.append(root);
  let frame = 0;

  const update = (value: unknown): void => {
    delete root.dataset.ready;
    root.replaceChildren(...render(value, host));
    cancelAnimationFrame(frame);
    // Tests and exporters wait for this attribute: the frame after the one that painted.
    frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        root.dataset.ready = "1";
      });
    });
  };
  const destroy = (): void => {
    cancelAnimationFrame(frame);
    root.remove();
  };

  update(document);
  return { update, destroy };
}

function render(value: unknown, host: Host): HTMLElement[] {
  try {
    const doc = readDocument(value);
    return [head(doc), picture(doc), findings(doc.findings ?? [], host)].filter(
      (node) => node !== null,
    );
  } catch (error) {
    const message =
      error instanceof UnreadableDocument
        ? error.message
        : `This output cannot be drawn (${String(error)}). Run the cell again to record it anew.`;
    const node = element("p", "jsp-unreadable", message);
    node.setAttribute("role", "alert");
    return [node];
  }
}

function picture(doc: SerprofDocument): HTMLElement {
  return doc.format === "serprof.trace" ? waterfall(doc) : sweep(doc);
}
