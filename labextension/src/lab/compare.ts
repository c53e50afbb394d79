/** Two profiles side by side, in an area of their own. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { Dialog, MainAreaWidget } from "@jupyterlab/apputils";
import { Widget } from "@lumino/widgets";
import type { CompareView } from "../document/host";
import { mountCompare } from "../frame/place";
import { serprofIcon } from "./icon";

/** What a comparison needs of a profile; a pinned one outlives its cell. */
export interface Compared {
  readonly title: string;
  readonly about: string;
  readonly document: unknown;
  readonly output: object;
}

class ComparisonWidget extends Widget {
  readonly #view: CompareView;

  constructor(before: Compared, after: Compared) {
    super();
    this.addClass("jsp-comparison");
    this.#view = mountCompare(this.node, before.document, after.document);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.#view.destroy();
    }
    super.dispose();
  }
}

export async function openComparison(
  app: JupyterFrontEnd,
  before: Compared,
  after: Compared,
): Promise<void> {
  const content = new ComparisonWidget(before, after);
  const area = new MainAreaWidget({ content });
  area.title.label = `${before.title} ↔ ${after.title}`;
  area.title.icon = serprofIcon;
  area.title.closable = true;
  app.shell.add(area, "main", { mode: "split-bottom" });
  if (area.isAttached) {
    app.shell.activateById(area.id);
    return;
  }
  // Notebook 7 has one place only, and the notebook is in it.
  area.dispose();
  const body = new ComparisonWidget(before, after);
  const dialog = new Dialog({ title: "Compare profiles", body, buttons: [Dialog.okButton()] });
  dialog.addClass("jsp-comparison-dialog");
  await dialog.launch();
}
