/** JupyterLab and Notebook 7 draw our documents with this renderer: live or saved, trusted or not. */

import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { Widget } from "@lumino/widgets";
import { isObject, MIME_TYPE, parsed, textOf } from "../document/document";
import type { Host, View } from "../document/host";
import { viewSet } from "../frame/common";
import type { ViewSet } from "../frame/part";
import { mountWith } from "../frame/place";
import { lanesOf } from "../lanes/view";
import { ICON } from "./icon";
import { plainText, tellText } from "./plain";
import { type Carried, preferences } from "./preferences";
import { keepKeys } from "./shortcuts";
import { steadily } from "./steady";

const FEW = viewSet([], [lanesOf]);
let views: ViewSet = FEW;
/** What only some documents need, there before an experiment ends: its picture comes at once. */
const all = Promise.all(
  [
    async () => [(await import("../compare/view")).comparisonOf],
    async () => [(await import("../blame/view")).anatomyOf],
    async () => (await import("../sweep/views")).SWEEPS,
  ].map((load: () => Promise<ViewSet>) => load().catch(() => [])),
).then((sets) => {
  views = viewSet(sets.flat(), [lanesOf]);
});
const PRESSED = "a, button, input, select, summary, [role=button]";

class DocumentWidget extends Widget implements IRenderMime.IRenderer {
  #view: View | null = null;
  #data: Carried = {};
  readonly #releaseKeys = keepKeys();

  constructor() {
    super();
    this.node.addEventListener("keydown", keepFromNotebook);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    // JupyterLab copies the whole output at each reading: seconds for 50 MB.
    const { data } = model;
    // A file comes as its text, an output as what its text meant.
    const carried: unknown = data[MIME_TYPE];
    const value = typeof carried === "string" ? parsed(carried) : carried;
    this.#data = data;
    const { anatomies, comparison, format } = Object(value) as Record<string, unknown>;
    if (views === FEW && (anatomies || comparison || format === "serprof.sweep")) {
      await all;
      // Meanwhile another one may have come, or the output be gone.
      if (this.#data !== data || this.isDisposed) {
        return;
      }
    }
    const asked: unknown = model.metadata[MIME_TYPE];
    const view = (isObject(asked) && textOf(asked.view)) || preferences.view;
    const { page } = preferences;
    const pages: Host = page
      ? { page: (doc) => page(textOf(Object(doc).name), doc, this.#data) }
      : {};
    const begin = (): void => {
      this.#view?.destroy();
      this.#view = mountWith(views)(this.node, value, { view, ...pages });
    };
    if (this.#view === null) {
      begin();
    } else {
      steadily(this.node, begin);
    }
    tellText(this.node, plainText(data));
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.#releaseKeys();
    }
    this.#view?.destroy();
    this.#view = null;
    super.dispose();
  }
}

/** Enter and Space press the focused button; the notebook would begin to edit the cell instead. */
function keepFromNotebook(event: KeyboardEvent): void {
  const isPress = event.key === "Enter" || event.key === " ";
  const isPlain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey;
  const { target } = event;
  if (isPress && isPlain && target instanceof Element && target.matches(PRESSED)) {
    event.stopPropagation();
  }
}

const extension: IRenderMime.IExtension = {
  id: "jupyter-serprof:mime",
  rendererFactory: {
    // Text of a document only ever enters the page as text nodes, so untrusted ones may be drawn.
    safe: true,
    mimeTypes: [MIME_TYPE],
    // Before the widget view (-10), which is blank without its kernel.
    defaultRank: -20,
    createRenderer: () => new DocumentWidget(),
  },
  // Of a file that is no JSON, JupyterLab would show its own error and close it again.
  dataType: "string",
  fileTypes: [
    {
      name: "serprof",
      displayName: "serprof document",
      icon: ICON,
      extensions: [".serprof.json"],
      mimeTypes: [MIME_TYPE],
      fileFormat: "text",
    },
  ],
  documentWidgetFactoryOptions: {
    name: "serprof",
    primaryFileType: "serprof",
    fileTypes: ["serprof", "json"],
    defaultFor: ["serprof"],
  },
};

export default extension;
