/**
 * Keep the keys that a picture uses from the shortcuts of the application around it.
 *
 * Notebook 7 takes its shortcuts while an event is still on its way down (`bubblingKeydown` is off
 * there, @jupyter-notebook 7.6; JupyterLab has it on), so that a picture cannot stop it: "a" would
 * insert a cell. Lumino's own attribute can; it is set before anybody else hears of the key. This
 * may go when Notebook 7 starts with `bubblingKeydown`.
 */

import { actionOf } from "../kit/keys";

const SUPPRESS = "data-lm-suppress-shortcuts";
const PRESSES = ["Enter", " "];
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

/** Elements, and the keys that they use; null: all. The first one that fits counts. */
const USED: readonly (readonly [string, readonly string[] | null])[] = [
  ["input, select, textarea", null],
  ["[role=radio], [role=tab]", [...ARROWS, ...PRESSES]],
  ["[role=slider]", [...ARROWS, "Home", "End", "PageUp", "PageDown"]],
  ["[aria-expanded]", ["ArrowLeft", "ArrowRight", ...PRESSES]],
  ["a, button, summary, [role=button]", PRESSES],
];

let userCount = 0;

/** Listen as long as at least one picture is there; the returned function ends it. */
export function keepKeys(): () => void {
  userCount += 1;
  // The same function twice is one listener.
  window.addEventListener("keydown", mark, true);
  return () => {
    userCount -= 1;
    if (userCount === 0) {
      window.removeEventListener("keydown", mark, true);
    }
  };
}

function mark(event: KeyboardEvent): void {
  const { target } = event;
  if (target instanceof Element && target.closest(".jsp-root") !== null) {
    target.toggleAttribute(SUPPRESS, isUsed(target, event));
  }
}

function isUsed(target: Element, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return false;
  }
  if (target.matches("[role=application]")) {
    return actionOf(event) !== null;
  }
  const keys = USED.find(([selector]) => target.matches(selector))?.[1];
  return keys === null || (keys?.includes(event.key) ?? false);
}
