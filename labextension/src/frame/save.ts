/** The menu that saves: the document, a picture of the view, and a page where the host can make one. */

import type { Host } from "../document/host";
import { fileName, saveFile } from "../kit/clip";
import { element } from "../kit/dom";
import { pictureOf } from "../kit/picture";

export function saveMenu(
  host: Host,
  name: string,
  source: unknown,
  say: (text: string) => void,
): HTMLElement {
  const node = element("details", "jsp-menu", element("summary", "jsp-button", "Save"));
  const list = element("div", "jsp-menu-list");
  const add = (title: string, ending: string, make: () => Blob | Promise<Blob>): void => {
    const button = element("button", "jsp-button", title);
    button.type = "button";
    button.addEventListener("click", async () => {
      try {
        saveFile(host, fileName(name, ending), await make());
        node.open = false;
      } catch {
        button.textContent = `${title}: not possible in this browser`;
        say(button.textContent);
      }
    });
    list.append(button);
  };
  add("Document (JSON)", ".serprof.json", () => {
    return new Blob([JSON.stringify(source)], { type: "application/json" });
  });
  add("Picture (PNG)", ".png", () => pictureOf(node.closest(".jsp-root") as HTMLElement));
  if (host.page) {
    const { page } = host;
    add("Page (HTML)", ".html", () => page(source));
  }
  node.append(list);
  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      node.open = false;
      node.querySelector("summary")?.focus();
    }
    event.stopPropagation();
  });
  return node;
}
