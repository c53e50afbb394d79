/**
 * Draws a document through anywidget: in VS Code, Colab and marimo, and while something runs.
 *
 * The whole document is a trait of bytes (UTF-8 JSON).
 */

import { parsed } from "../document/document";
import type { ViewSet } from "../frame/part";
import { mountWith } from "../frame/place";
import { keepKeys } from "./shortcuts";
import { noteOpened, steadily } from "./steady";

/** What anywidget gives a module; only what is used here. */
interface Model {
  get(name: string): unknown;
  on(event: string, handler: (...values: unknown[]) => void): void;
  off(event: string, handler: (...values: unknown[]) => void): void;
}

interface Place {
  readonly model: Model;
  readonly el: HTMLElement;
}

function render(views: ViewSet, { model, el }: Place): () => void {
  const picture = mountWith(views)(el, documentOf(model), {
    view: String(model.get("view") ?? ""),
  });
  noteOpened(el);
  const follow = (): void => steadily(el, () => picture.update(documentOf(model)));
  model.on("change:document", follow);
  const releaseKeys = keepKeys();
  return () => {
    releaseKeys();
    model.off("change:document", follow);
    picture.destroy();
  };
}

function documentOf(model: Model): unknown {
  const value = model.get("document");
  // marimo hands over a Uint8Array, the Jupyter front ends a DataView.
  const bytes = ArrayBuffer.isView(value) ? value : new Uint8Array();
  return parsed(typeof value === "string" ? value : new TextDecoder().decode(bytes));
}

/** What a module for anywidget exports: one for each kind of document. */
export function widgetWith(views: ViewSet) {
  return { render: (place: Place): (() => void) => render(views, place) };
}
