/** The output of a panel: its controls while their kernel lives, else the sentence it carries. */

import type { NotebookPanel } from "@jupyterlab/notebook";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { Panel, Widget } from "@lumino/widgets";
import { plainText } from "../hosts/plain";

const PANEL_TYPE = "application/vnd.jupyter-serprof.panel+json";
const WIDGET_TYPE = "application/vnd.jupyter.widget-view+json";
/** Before the widget view (-10), which is a box of broken icons without its kernel. */
const RANK = -20;

const NO_WIDGETS =
  "The controls cannot be drawn: the server of this JupyterLab has no widgets. Install them in its environment, which need not be that of the kernel: pip install jupyterlab_widgets anywidget; then load this page again.";

/** The style sheet shows one of the two: ipywidgets marks what has lost its kernel. */
class ControlsOutput extends Panel implements IRenderMime.IRenderer {
  constructor(readonly rendermime: IRenderMimeRegistry) {
    super();
    this.addClass("jsp-controls");
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const said = new Widget();
    said.addClass("jsp-controls-said");
    const canDraw = this.rendermime.mimeTypes.includes(WIDGET_TYPE);
    const texts = { ...model.data, ...(model.data[PANEL_TYPE] as object) };
    said.node.textContent = canDraw ? plainText(texts) : NO_WIDGETS;
    this.addWidget(said);
    if (!canDraw) {
      return;
    }
    const controls = this.rendermime.createRenderer(WIDGET_TYPE);
    controls.addClass("jsp-controls-live");
    this.addWidget(controls);
    await controls.renderModel(model);
  }
}

export function drawControls({ content: { rendermime } }: NotebookPanel): void {
  rendermime.addFactory(
    {
      // As the widgets in it: not in a notebook that is not trusted.
      safe: false,
      mimeTypes: [PANEL_TYPE],
      createRenderer: () => new ControlsOutput(rendermime),
    },
    RANK,
  );
}
