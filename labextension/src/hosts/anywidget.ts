/** Draws a document (bytes: JSON) through anywidget: without our extension, while something runs. */

import { parsed } from "../document/document";
import type { ViewSet } from "../frame/part";
import { mountWith } from "../frame/place";
import { element, having } from "../kit/dom";
import { keepKeys } from "./shortcuts";
import { noteOpened, steadily } from "./steady";

/** What anywidget gives a module; only what is used here. */
interface Model {
  get(name: string): unknown;
  on(event: string, handler: (...values: unknown[]) => void): void;
  off(event: string, handler: (...values: unknown[]) => void): void;
}

/** What a module for anywidget exports: one for each kind of document. */
export function widgetWith(views: ViewSet) {
  const render = ({ model, el }: { model: Model; el: HTMLElement }): (() => void) => {
    const view = String(model.get("view") ?? "");
    const picture = mountWith(views)(el, documentOf(model), { view });
    noteOpened(el);
    const follow = (): void => steadily(el, () => picture.update(documentOf(model)));
    const tell = (): void => {
      const old = element("i", "", " (no news since)");
      el.querySelector(".jsp-facts span")?.replaceChildren(String(model.get("told")), old);
      // A kernel that dies says nothing more, and then there is no Stop.
      button.animate({ visibility: ["visible", "visible"] }, 6_000);
    };
    const stop = { "data-commandlinker-command": String(model.get("stop") ?? "") };
    const button = having(element("button", "jsp-stop", "Stop"), stop);
    // While it grows: outside of what is drawn anew between press and release.
    el.prepend(...(model.get("stop") ? [button] : []));
    model.on("change:document", follow);
    model.on("change:told", tell);
    const releaseKeys = keepKeys();
    return () => {
      releaseKeys();
      model.off("change:document", follow);
      model.off("change:told", tell);
      picture.destroy();
    };
  };
  return { render };
}

function documentOf(model: Model): unknown {
  const value = model.get("document");
  // marimo hands over a Uint8Array, the Jupyter front ends a DataView.
  const bytes = ArrayBuffer.isView(value) ? value : new Uint8Array();
  return parsed(typeof value === "string" ? value : new TextDecoder().decode(bytes));
}
