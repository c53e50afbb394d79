/** Run the active cell with a cell magic on top of it; keep its picture when cleared; stop it. */

import { Notification } from "@jupyterlab/apputils";
import type { Cell, CodeCell } from "@jupyterlab/cells";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { isObject, MIME_TYPE } from "../document/document";
import { type CellMagic, withMagic } from "./magic";
import { profilesOfCell } from "./profiles";

export async function runWithMagic(panel: NotebookPanel, magic: CellMagic): Promise<void> {
  const { content: notebook, sessionContext } = panel;
  const cell = notebook.activeCell;
  if (!isCode(cell)) {
    return;
  }
  cell.model.sharedModel.setSource(withMagic(cell.model.sharedModel.getSource(), magic));
  notebook.deselectAll();
  await sessionContext.ready;
  // Nobody waits for the answer: the kernel takes requests in their order.
  const loading = sessionContext.session?.kernel?.requestExecute({
    code: "%load_ext jupyter_serprof",
    silent: true,
    store_history: false,
    stop_on_error: false,
  });
  loading?.done.then(
    ({ content }) => content.status === "error" && tellMissing(sessionContext.kernelDisplayName),
    () => undefined,
  );
  await NotebookActions.run(notebook, sessionContext);
}

/** The environment of a kernel is not that of the server, least of all on a JupyterHub. */
function tellMissing(kernel: string): void {
  // JupyterLab shows 140 characters.
  const where = `The kernel "${kernel}" has no jupyter_serprof`;
  Notification.error(`${where}. Run in a cell: %pip install jupyter_serprof`, { autoClose: false });
}

/** Of the widget's Stop JupyterLab would ask whether the notebook is trusted, and the run go on. */
export function hearStop({ content, sessionContext }: NotebookPanel): void {
  content.node.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.matches(".jsp-stop")) {
      event.stopPropagation();
      void sessionContext.session?.kernel?.interrupt();
    }
  });
}

/** JupyterLab forgets the place of a line where outputs are cleared: its picture is added anew. */
export function keepPictures({ content, sessionContext }: NotebookPanel): void {
  sessionContext.iopubMessage.connect((_, message) => {
    const { data } = message.content as { data?: unknown };
    if (message.header.msg_type !== "update_display_data" || !isObject(data) || !data[MIME_TYPE]) {
      return;
    }
    const { msg_id } = message.parent_header as { msg_id?: string };
    const cell = content.widgets
      .filter(isCode)
      .find(({ outputArea: { future } }) => future?.msg.header.msg_id === msg_id);
    if (cell !== undefined && profilesOfCell(cell).length === 0) {
      cell.outputArea.model.add({ ...message.content, output_type: "display_data" });
    }
  });
}

export function isCode(cell: Cell | null): cell is CodeCell {
  return cell !== null && !cell.isDisposed && cell.model?.type === "code";
}
