/** Keys in the manner of Perfetto and Jaeger, as names of what they do; and the pointer. */

const ACTIONS = {
  w: "zoom-in",
  "+": "zoom-in",
  "=": "zoom-in",
  s: "zoom-out",
  "-": "zoom-out",
  a: "left",
  ArrowLeft: "left",
  d: "right",
  ArrowRight: "right",
  ArrowUp: "outer",
  ArrowDown: "inner",
  n: "next",
  p: "previous",
  Home: "first",
  End: "last",
  f: "fit",
  "0": "reset",
  m: "mark",
  Enter: "pin",
  " ": "pin",
  "/": "search",
  "?": "help",
  Escape: "escape",
} as const;

export type Action = (typeof ACTIONS)[keyof typeof ACTIONS];

/** For the help: what is shown as the key, and what it does. */
export const KEY_HELP: readonly (readonly [string, string])[] = [
  ["w s, ctrl + wheel", "zoom"],
  ["a d, ← →, drag", "pan"],
  ["n p, Home End", "next and previous span"],
  ["↑ ↓", "outer and inner span"],
  ["Enter, click", "pin a span"],
  ["f, double click", "fit the span"],
  ["0", "the whole run"],
  ["m, shift + drag", "sums of an area"],
  ["/", "search"],
  ["Esc", "let go"],
];

/** What a key means; null when it belongs to the browser or the notebook. */
export function actionOf(event: KeyboardEvent): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return null;
  }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return Object.hasOwn(ACTIONS, key) ? ACTIONS[key as keyof typeof ACTIONS] : null;
}

/** Only keys that mean something are kept from the notebook, whose command mode has its own. */
export function listenToKeys(canvas: HTMLElement, act: (action: Action) => void): void {
  canvas.addEventListener("keydown", (event) => {
    const action = actionOf(event);
    if (action !== null) {
      event.stopPropagation();
      event.preventDefault();
      act(action);
    }
  });
}

/** Follow the pointer from where it was pressed until it is let go, or taken away. */
export function listenToDrag(
  canvas: HTMLElement,
  down: PointerEvent,
  moved: (event: PointerEvent) => void,
  ended: (event: PointerEvent) => void,
): void {
  const up = (event: PointerEvent): void => {
    canvas.removeEventListener("pointermove", moved);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointercancel", up);
    ended(event);
  };
  canvas.setPointerCapture(down.pointerId);
  canvas.addEventListener("pointermove", moved);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
}
