/** Put a picture on a page, draw it anew at every update, and say when it is ready. */

import { readDocument, UnreadableDocument } from "../document/document";
import type { Host, View } from "../document/host";
import { element, having } from "../kit/dom";
import type { ViewSet } from "./part";
import { type Shell, shell } from "./shell";

/** A bundle for one kind of document brings the views of that kind, and no others. */
export function mountWith(views: ViewSet) {
  return (container: HTMLElement, document: unknown, host: Host = {}): View =>
    placed<[unknown]>(container, [document], (root, value) =>
      shell(root, readDocument(value), host, views),
    );
}

/** A root element that is drawn anew at every update and says when it is ready. */
export function placed<Documents extends unknown[]>(
  container: HTMLElement,
  documents: Documents,
  draw: (root: HTMLElement, ...documents: Documents) => Shell,
): { update(...documents: Documents): void; destroy(): void } {
  const root = element("div", "jsp-root");
  container.append(root);
  let frame = 0;
  let inner: Shell | null = null;

  const update = (...values: Documents): void => {
    delete root.dataset.ready;
    inner?.destroy();
    inner = null;
    try {
      inner = draw(root, ...values);
    } catch (error) {
      root.replaceChildren(apology(error));
    }
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
    inner?.destroy();
    root.remove();
  };

  update(...documents);
  return { update, destroy };
}

function apology(error: unknown): HTMLElement {
  const message =
    error instanceof UnreadableDocument
      ? error.message
      : `This output cannot be drawn (${String(error)}). Run the cell again to record it anew.`;
  return having(element("p", "jsp-unreadable", message), { role: "alert" });
}
