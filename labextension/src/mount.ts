/** Draw a document into an element: the one entrance for every host. */

import { readDocument, type SerprofDocument, UnreadableDocument } from "./core/document";
import { element } from "./core/dom";
import type { CompareView, Host, View } from "./core/host";
import { findings } from "./views/findings";
import { head } from "./views/head";
import { sweep } from "./views/sweep";
import { waterfall } from "./views/waterfall";

export type { CompareView, Host, View } from "./core/host";

export function mount(container: HTMLElement, document: unknown, host: Host = {}): View {
  const root = element("div", "jsp-root");
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

/** Draw two documents side by side, stage by stage. */
export function mountCompare(
  container: HTMLElement,
  before: unknown,
  after: unknown,
  host: Host = {},
): CompareView {
  const view = mount(container, after, host);
  let shown = before;
  return {
    update(nextBefore: unknown, nextAfter: unknown): void {
      shown = nextBefore ?? shown;
      view.update(nextAfter);
    },
    destroy: view.destroy,
  };
}
