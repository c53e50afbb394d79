/** The profiles of a notebook, read from its outputs: no kernel is asked. */

import type { Cell, ICodeCellModel } from "@jupyterlab/cells";
import type { Notebook } from "@jupyterlab/notebook";

import { MIME_TYPE } from "../core/document";
import { duration } from "../core/format";

/** One document in one output. */
export interface Profile {
  readonly cell: Cell;
  /** Position of the output in its cell. */
  readonly place: number;
  readonly title: string;
  /** One line about it: the count of the cell, and the wall time of a trace. */
  readonly about: string;
  /** What the output carries, by MIME type. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly document: unknown;
  readonly sizeBytes: number;
}

/** Documents are stringified once to learn their size; a changed output is another object. */
const sizes = new WeakMap<object, number>();

export function profilesOf(notebook: Notebook | null): Profile[] {
  if (notebook === null || notebook.isDisposed || notebook.model === null) {
    return [];
  }
  return notebook.widgets.flatMap(profilesOfCell);
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
  const found: Profile[] = [];
  for (let place = 0; place < outputs.length; place += 1) {
    const data = outputs.get(place)?.data;
    const document: unknown = data?.[MIME_TYPE];
    if (data !== undefined && isObject(document)) {
      found.push(profile(cell, model, place, data, document));
    }
  }
  return found;
}

function profile(
  cell: Cell,
  model: ICodeCellModel,
  place: number,
  data: Profile["data"],
  document: Record<string, unknown>,
): Profile {
  const count = model.executionCount === null ? "[ ]" : `[${model.executionCount}]`;
  const wall = document.wall_ns;
  const time = typeof wall === "number" && Number.isFinite(wall) ? ` ${duration(wall)}` : "";
  const kind = document.format === "serprof.sweep" ? " sweep" : "";
  return {
    cell,
    place,
    title: typeof document.name === "string" && document.name !== "" ? document.name : "unnamed",
    about: `${count}${time}${kind}`,
    data,
    document,
    sizeBytes: sizeOf(document),
  };
}

function sizeOf(document: object): number {
  const known = sizes.get(document);
  if (known !== undefined) {
    return known;
  }
  const size = JSON.stringify(document).length;
  sizes.set(document, size);
  return size;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
