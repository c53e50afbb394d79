/** Put a picture on a page, draw it anew at every update, and say when it is ready. */

import { compareShell } from "../compare/sides";
import { readDocument, UnreadableDocument } from "../document/document";
import type { CompareView, Host, View } from "../document/host";
import { element, having } from "../kit/dom";
import type { ViewSet } from "./part";
import { EVERY } from "./registry";
import { type Shell, shell } from "./shell";

export type Mount = (container: HTMLElement, document: unknown, host?: Host) => View;

/** A bundle for one kind of document brings the views of that kind, and no others. */
export function mountWith(views: ViewSet): Mount {
  return (container, document, host = {}) =>
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

export type { CompareView, Host, View } from "../document/host";

/** Draw a document into an element, with every view that there is; no bundle brings them all. */
export const mount = /* @__PURE__ */ mountWith(EVERY);

/** Draw two documents side by side, stage by stage: what changed from the first to the second. */
export function mountCompare(
  container: HTMLElement,
  before: unknown,
  after: unknown,
  host: Host = {},
  files: readonly string[] = [],
): CompareView {
  return placed<[unknown, unknown]>(container, [before, after], (root, one, other) =>
    compareShell(root, readDocument(one), readDocument(other), host, files),
  );
}
