/** Run the active cell with a cell magic on top of it. */

import type { Cell } from "@jupyterlab/cells";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";

export type CellMagic = "%%serprof" | "%%graphstages";

/** A first line that is one of ours, with its options. */
const OURS = /^\s*%%(serprof|graphstages)\b([^\n]*)\n?/;

/** Return the source with the magic on top; one of ours that is there is replaced. */
export function withMagic(source: string, magic: CellMagic): string {
  const found = OURS.exec(source);
  if (found === null) {
    return `${magic}\n${source}`;
  }
  return `%%${found[1]}` === magic ? source : `${magic}\n${source.slice(found[0].length)}`;
}

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
