/** Keys in the manner of Perfetto and Jaeger, as names of what they do. */

export type Action =
  | "zoom-in"
  | "zoom-out"
  | "left"
  | "right"
  | "outer"
  | "inner"
  | "next"
  | "previous"
  | "first"
  | "last"
  | "fit"
  | "reset"
  | "mark"
  | "pin"
  | "search"
  | "help"
  | "escape";

const ACTIONS: Readonly<Record<string, Action>> = {
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
};

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
  return Object.hasOwn(ACTIONS, key) ? (ACTIONS[key] ?? null) : null;
}
