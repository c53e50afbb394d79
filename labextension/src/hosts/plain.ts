/** The text of an output: what is left when its document cannot be drawn. */

import { textOf } from "../document/document";

export function plainText(data: Readonly<Record<string, unknown>>): string {
  const said = data["text/plain"];
  return Array.isArray(said) ? said.join("") : textOf(said);
}

/** Below a sentence that says why nothing is drawn, the text; below a picture, nothing. */
export function tellText(place: HTMLElement, text: string): void {
  place.querySelector(":scope > pre")?.remove();
  if (text !== "" && place.querySelector(".jsp-root > [role=alert]") !== null) {
    const node = document.createElement("pre");
    node.textContent = text;
    place.append(node);
  }
}
