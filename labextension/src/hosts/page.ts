/** The script of a self-contained page: the document lies in the page as text that nothing runs. */

import { MIME_TYPE, parsed } from "../document/document";
import type { ViewSet } from "../frame/part";
import { mountWith } from "../frame/place";

export function start(views: ViewSet): void {
  const source = document.querySelector<HTMLScriptElement>(`script[type="${MIME_TYPE}"]`);
  const place = document.getElementById("serprof");
  if (source === null || place === null) {
    return;
  }
  const value = parsed(source.textContent);
  mountWith(views)(place, value, { view: source.dataset.view ?? "" });
  if (value !== null) {
    // Picture and text were for readers without scripts; of a damaged document they stay.
    document.getElementById("serprof-fallback")?.remove();
  }
}
