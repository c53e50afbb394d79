/** Draw a document into an element, with every view that there is. */

import { compareShell } from "../compare/sides";
import { readDocument } from "../document/document";
import type { CompareView, Host } from "../document/host";
import { mountWith, placed } from "./place";
import { EVERY } from "./registry";

export type { CompareView, Host, View } from "../document/host";

export const mount = mountWith(EVERY);

/** Draw two documents side by side, stage by stage: what changed from the first to the second. */
export function mountCompare(
  container: HTMLElement,
  before: unknown,
  after: unknown,
  host: Host = {},
): CompareView {
  return placed<[unknown, unknown]>(container, [before, after], (root, one, other) =>
    compareShell(root, readDocument(one), readDocument(other), host),
  );
}
