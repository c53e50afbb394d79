/** The button that opens a row: by click, Enter, Space, and the arrow keys to the sides. */

import { element } from "./dom";

export interface Twisty {
  readonly node: HTMLButtonElement;
  isOpen(): boolean;
  toggle(): void;
}

export function twisty(label: string, isOpenFirst: boolean, changed: () => void): Twisty {
  const node = element("button", "jsp-twisty");
  node.type = "button";
  node.setAttribute("aria-expanded", String(isOpenFirst));
  node.setAttribute("aria-label", label);
  const isOpen = (): boolean => node.getAttribute("aria-expanded") === "true";
  const toggle = (): void => {
    node.setAttribute("aria-expanded", String(!isOpen()));
    changed();
  };
  node.addEventListener("click", (event) => {
    event.stopPropagation();
    toggle();
  });
  node.addEventListener("keydown", (event) => {
    const wantsOpen = event.key === "ArrowRight";
    if (["Enter", " ", "ArrowRight", "ArrowLeft"].includes(event.key)) {
      event.stopPropagation();
    }
    if ((wantsOpen || event.key === "ArrowLeft") && wantsOpen !== isOpen()) {
      event.preventDefault();
      toggle();
    }
  });
  return { node, isOpen, toggle };
}

/** The whole row opens as well, but selecting a number to copy it is no wish to open the row. */
export function openByRow(row: HTMLTableRowElement, { node, toggle }: Twisty): void {
  row.querySelector("th")?.prepend(node);
  row.classList.add("jsp-openable");
  row.addEventListener("click", () => {
    if (getSelection()?.isCollapsed !== false) {
      toggle();
    }
  });
}
