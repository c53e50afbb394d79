/** Run the active cell with a cell magic on top of it. */

import { Notification } from "@jupyterlab/apputils";
import type { Cell } from "@jupyterlab/cells";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { type CellMagic, withMagic } from "./magic";

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

export function isCode(cell: Cell | null): cell is Cell {
  return cell !== null && !cell.isDisposed && cell.model?.type === "code";
}
