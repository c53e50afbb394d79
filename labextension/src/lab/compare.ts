/** Two profiles side by side, in an area of their own. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { Dialog, MainAreaWidget } from "@jupyterlab/apputils";
import { Widget } from "@lumino/widgets";
import { mountCompare } from "../compare/sides";
import { parsed } from "../document/document";
import type { CompareView } from "../document/host";
import { serprofIcon } from "./icon";

/** What a comparison needs of a profile; a pinned one outlives its cell. */
export interface Compared {
  readonly title: string;
  readonly about: string;
  readonly document: unknown;
  readonly output: object;
  /** Where a kernel finds its file. */
  readonly file?: string;
}

class ComparisonWidget extends Widget {
  readonly #view: CompareView;

  constructor(before: Compared, after: Compared) {
    super();
    this.addClass("jsp-comparison");
    const files = [before.file, after.file].filter((file) => file !== undefined);
    this.#view = mountCompare(this.node, before.document, after.document, {}, files);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.#view.destroy();
    }
    super.dispose();
  }
}

/** A saved document as a side of a comparison. */
export async function comparedFile(app: JupyterFrontEnd, path: string): Promise<Compared> {
  const { contents } = app.serviceManager;
  const asText = { type: "file", format: "text", content: true } as const;
  const { content, name } = await contents.get(path, asText);
  const { paths } = app as { paths?: JupyterFrontEnd.IPaths };
  const file = [paths?.directories.serverRoot, contents.localPath(path)].filter(Boolean).join("/");
  return { title: name, about: "", document: parsed(String(content)), output: {}, file };
}

export async function openComparison(app: JupyterFrontEnd, before: Compared, after: Compared) {
  const content = new ComparisonWidget(before, after);
  const area = new MainAreaWidget({ content });
  area.title.label = `${before.title} ↔ ${after.title}`;
  area.title.icon = serprofIcon;
  area.title.closable = true;
  app.shell.add(area, "main", { mode: "tab-after" });
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
