/** Run the active cell with a cell magic on top of it. */

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
  // Without an answer to wait for: the kernel takes requests in their order.
  sessionContext.session?.kernel?.requestExecute({
    code: "%load_ext jupyter_serprof",
    silent: true,
    store_history: false,
    stop_on_error: false,
  });
  await NotebookActions.run(notebook, sessionContext);
}

export function isCode(cell: Cell | null): cell is Cell {
  return cell !== null && !cell.isDisposed && cell.model?.type === "code";
}
