/** The profiles of a notebook, read from its outputs: no kernel is asked. */

import type { Cell, ICodeCellModel } from "@jupyterlab/cells";
import type { Notebook } from "@jupyterlab/notebook";
import type { IOutputModel } from "@jupyterlab/rendermime";

import { isObject, known, MIME_TYPE, textOf } from "../document/document";
import { duration } from "../document/format";
import type { Carried } from "../hosts/preferences";

/** One document in one output. */
export interface Profile {
  readonly cell: Cell;
  /** Position of the output in its cell. */
  readonly place: number;
  readonly title: string;
  /** One line about it: the count of the cell, and the wall time of a trace. */
  readonly about: string;
  /** What the output carries, by MIME type. */
  readonly data: Carried;
  readonly document: unknown;
  readonly sizeBytes: number;
  /** The output itself: another one when the cell has run again. */
  readonly output: object;
}

type Read = Pick<Profile, "data" | "document" | "sizeBytes">;

/** JupyterLab copies the data of an output at each reading; an updated output is another object. */
const read = new WeakMap<object, Read | null>();

export function profilesOf(notebook: Notebook | null): Profile[] {
  const isThere = notebook?.isDisposed === false && notebook.model !== null;
  return isThere ? notebook.widgets.flatMap(profilesOfCell) : [];
}

export function profilesOfCell(cell: Cell): Profile[] {
  if (cell.isDisposed || cell.model?.type !== "code") {
    return [];
  }
  const model = cell.model as ICodeCellModel;
  // While a cell is taken out it has no outputs any more, not an empty list.
  const outputs = model.isDisposed ? null : (model.outputs ?? null);
  if (outputs === null || outputs.isDisposed) {
    return [];
  }
  const each = Array.from({ length: outputs.length }, (_, place) => outputs.get(place));
  return each.flatMap((output, place) => {
    const carried = output ? carriedBy(output) : null;
    return carried ? [{ ...carried, ...named(carried.document, model), cell, place, output }] : [];
  });
}

function carriedBy(output: IOutputModel): Read | null {
  const known = read.get(output);
  if (known !== undefined) {
    return known;
  }
  const { data } = output;
  const document: unknown = data[MIME_TYPE];
  const sizeBytes = isObject(document) ? JSON.stringify(document).length : 0;
  const carried = sizeBytes ? { data, document, sizeBytes } : null;
  read.set(output, carried);
  return carried;
}

function named(document: unknown, model: ICodeCellModel): Pick<Profile, "title" | "about"> {
  const { name, wall_ns, format } = isObject(document) ? document : {};
  const wall = known(wall_ns);
  const count = model.executionCount === null ? "[ ]" : `[${model.executionCount}]`;
  const time = wall === null ? "" : ` ${duration(wall)}`;
  return {
    title: textOf(name) || "unnamed",
    about: `${count}${time}${format === "serprof.sweep" ? " sweep" : ""}`,
  };
}
