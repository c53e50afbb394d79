/** A picture that is drawn anew, ten times a second perhaps, leaves the reader's choice as it is. */

const CHOSEN = '.jsp-switch [role="radio"][aria-checked="true"]';

/** What was opened last without the reader: with the second size a sweep has a better view. */
const opened = new WeakMap<HTMLElement, string | null>();

/** Remember what is open now as nobody's choice. */
export function noteOpened(place: HTMLElement): void {
  opened.set(place, titleOf(place.querySelector(CHOSEN)));
}

/** Draw again; the view that was chosen is chosen again, and keeps the focus if it had it. */
export function steadily(place: HTMLElement, draw: () => void): void {
  const chosen = place.querySelector(CHOSEN);
  const hadFocus = chosen !== null && chosen === document.activeElement;
  const title = titleOf(chosen);
  const isChoice = !opened.has(place) || opened.get(place) !== title || hadFocus;
  draw();
  noteOpened(place);
  if (!isChoice) {
    return;
  }
  const again = [...place.querySelectorAll<HTMLElement>('.jsp-switch [role="radio"]')].find(
    (choice) => titleOf(choice) === title,
  );
  if (again?.getAttribute("aria-checked") === "false") {
    again.click();
  }
  if (hadFocus) {
    again?.focus();
  }
}

/** Without the count that may stand behind it. */
function titleOf(choice: Element | null): string | null {
  return choice?.firstChild?.textContent ?? null;
}
