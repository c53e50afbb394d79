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
