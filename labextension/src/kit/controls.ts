/** A choice of one: buttons of a radio group, with one tab stop and arrow keys. */

import { button, element, having } from "./dom";

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
  const buttons = choices.map(({ badge, title }, at) => {
    const count = badge ? element("span", "jsp-count", badge) : null;
    return having(
      button("jsp-choice", () => take(at), title, count),
      { role: "radio" },
    );
  });
  const set = (key: string): void => {
    buttons.forEach((each, at) => {
      const isChosen = choices[at]?.key === key;
      having(each, { "aria-checked": String(isChosen), tabindex: isChosen ? 0 : -1 });
    });
  };
  const take = (at: number): void => {
    const choice = choices[at];
    if (choice !== undefined) {
      set(choice.key);
      changed(choice.key);
    }
  };
  buttons.forEach((each, at) => {
    each.addEventListener("keydown", (event) => {
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
  const attributes = { role: "radiogroup", "aria-label": label };
  set(chosen);
  return { node: having(element("div", className, ...buttons), attributes), set };
}

/** So many choices are buttons beside each other. */
const MOST_BUTTONS = 5;

/** A choice of one: the buttons of a radio group, or a menu in place of many. */
export function chooser(
  label: string,
  choices: readonly Choice[],
  chosen: string,
  changed: (key: string) => void,
): HTMLElement {
  if (choices.length <= MOST_BUTTONS) {
    return radio(label, "jsp-segmented", choices, chosen, changed).node;
  }
  const option = ({ key, title }: Choice) => having(element("option", "", title), { value: key });
  const select = element("select", "jsp-select", ...choices.map(option));
  select.value = chosen;
  select.addEventListener("keydown", (event) => event.stopPropagation());
  select.addEventListener("change", () => changed(select.value));
  return element("label", "jsp-note", `${label} `, select);
}

/** A slider over the places 0 to `most` that says in words where it stands. */
export function slider(
  most: number,
  at: number,
  textOf: (at: number) => string,
  changed: (at: number) => void,
): HTMLInputElement {
  const attributes = { type: "range", min: 0, max: most, step: 1 };
  const input = having(element("input", "jsp-slider"), attributes);
  const say = (): void => input.setAttribute("aria-valuetext", textOf(Number(input.value)));
  input.value = String(at);
  say();
  input.addEventListener("keydown", (event) => event.stopPropagation());
  input.addEventListener("input", () => {
    say();
    changed(Number(input.value));
  });
  return input;
}

/** The button that opens a row: by click, Enter, Space, and the arrow keys to the sides. */
export interface Twisty {
  readonly node: HTMLButtonElement;
  isOpen(): boolean;
  toggle(): void;
}

export function twisty(label: string, isOpenFirst: boolean, changed: () => void): Twisty {
  const isOpen = (): boolean => node.getAttribute("aria-expanded") === "true";
  const toggle = (): void => {
    node.setAttribute("aria-expanded", String(!isOpen()));
    changed();
  };
  const pressed = (event: Event): void => {
    event.stopPropagation();
    toggle();
  };
  const attributes = { "aria-expanded": String(isOpenFirst), "aria-label": label };
  const node = having(button("jsp-twisty", pressed), attributes);
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
