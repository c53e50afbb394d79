import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { Widget } from "@lumino/widgets";

const MIME_TYPE = "application/vnd.jupyter-serprof.v1+json";

class DocumentView extends Widget implements IRenderMime.IRenderer {
  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.node.textContent = JSON.stringify(model.data[MIME_TYPE] ?? null);
  }
}

const extension: IRenderMime.IExtension = {
  id: "jupyter-serprof:mime",
  rendererFactory: {
    safe: true,
    mimeTypes: [MIME_TYPE],
    defaultRank: -20,
    createRenderer: () => new DocumentView(),
  },
  dataType: "json",
};

export default extension;
