/** A choice of one: buttons of a radio group, with one tab stop and arrow keys. */

import { element } from "./dom";

export interface Choice {
  readonly key: string;
  readonly title: string;
  readonly badge?: string | undefined;
}

export interface Radio {
  readonly node: HTMLElement;
  /** Show a choice as taken, without calling back. */
  set(key: string): void;
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
};

export function radio(
  label: string,
  className: string,
  choices: readonly Choice[],
  chosen: string,
  changed: (key: string) => void,
): Radio {
  const buttons = choices.map((choice) => buttonOf(choice));
  const set = (key: string): void => {
    choices.forEach((choice, at) => {
      const isChosen = choice.key === key;
      buttons[at]?.setAttribute("aria-checked", String(isChosen));
      buttons[at]?.setAttribute("tabindex", isChosen ? "0" : "-1");
    });
  };
  const take = (at: number): void => {
    const choice = choices[at];
    if (choice !== undefined) {
      set(choice.key);
      changed(choice.key);
    }
  };
  buttons.forEach((button, at) => {
    button.addEventListener("click", () => take(at));
    button.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (step !== undefined) {
        event.preventDefault();
        event.stopPropagation();
        const next = (at + step + buttons.length) % buttons.length;
        take(next);
        buttons[next]?.focus();
      } else if (event.key === "Enter" || event.key === " ") {
        // The browser clicks; the notebook must not run the cell.
        event.stopPropagation();
      }
    });
  });
  const node = element("div", className, ...buttons);
  node.setAttribute("role", "radiogroup");
  node.setAttribute("aria-label", label);
  set(chosen);
  return { node, set };
}

function buttonOf({ title, badge }: Choice): HTMLButtonElement {
  const count = badge ? element("span", "jsp-count", badge) : null;
  const button = element("button", "jsp-choice", title, count);
  button.type = "button";
  button.setAttribute("role", "radio");
  return button;
}

/** The button that opens a row: by click, Enter, Space, and the arrow keys to the sides. */

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
