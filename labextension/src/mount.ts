/** Draw a document into an element, with every view that there is. */

import { readDocument } from "./core/document";
import type { CompareView, Host } from "./core/host";
import { mountWith, placed } from "./place";
import { compareShell } from "./views/compare";
import { EVERY } from "./views/registry";

export type { CompareView, Host, View } from "./core/host";

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
