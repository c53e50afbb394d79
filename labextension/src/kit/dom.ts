/** Build elements. Text of a document only ever enters a page as a text node. */

export type Child = Node | string | null;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (className !== "") {
    node.className = className;
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A sentence with its pieces in backquotes as code; one that is not closed stays as it is. */
export function coded(text: string): (string | Node)[] {
  const parts = text.split("`");
  return parts.length % 2 === 0
    ? [text]
    : parts.map((part, at) => (at % 2 === 1 ? element("code", "jsp-word", part) : part));
}

/** The same, with a tooltip. */
export function titled<T extends HTMLElement>(node: T, title: string): T {
  node.title = title;
  return node;
}

/** The same, with attributes. */
export function having<T extends Element>(node: T, attributes: Attributes): T {
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttribute(name, String(value));
  }
  return node;
}

/** The head of a column, of a row, or of a group of rows. */
export function heading(
  scope: "col" | "row" | "rowgroup",
  className: string,
  ...children: Child[]
): HTMLTableCellElement {
  return having(element("th", className, ...children), { scope });
}

export function button(
  className: string,
  pressed: (event: MouseEvent) => void,
  ...children: Child[]
): HTMLButtonElement {
  const node = having(element("button", className, ...children), { type: "button" });
  node.addEventListener("click", pressed);
  return node;
}

/** Words, and what is said of each. */
export function definitions(
  className: string,
  said: readonly (readonly [word: string, text: string])[],
): HTMLElement {
  const entries = said.map(([word, text]) =>
    element("div", "", element("dt", "", word), element("dd", "", text)),
  );
  return element("dl", className, ...entries);
}

/** The link to a page about something; none where there is no address, or another kind of one. */
export function whyLink(about: string, page: unknown): HTMLElement | null {
  const href = String(page ?? "");
  const link = element("a", "jsp-link jsp-why", "why");
  having(link, { href, target: "_blank", rel: "noopener", "aria-label": `why: ${about}` });
  return /^(https?|file):/.test(href) ? link : null;
}

/** A title; what stands below it is made when it is first opened. */
export function folded(
  title: string,
  opened: (node: HTMLDetailsElement) => void,
): HTMLDetailsElement {
  const node = element("details", "jsp-more", element("summary", "", title));
  node.addEventListener("toggle", () => opened(node), { once: true });
  return node;
}

/** Place a mark on a plot; what reaches beyond its ends (shares of the width, 0..1) is cut. */
export function place<T extends HTMLElement>(node: T, left: number, width: number): T {
  const from = Math.min(1, Math.max(0, left || 0));
  const to = Math.min(1, Math.max(from, left + width || 0));
  node.style.left = `${(from * 100).toFixed(3)}%`;
  node.style.width = `${((to - from) * 100).toFixed(3)}%`;
  return node;
}

export type Attributes = Readonly<Record<string, string | number>>;

/** The name of the format, not an address: nothing is ever asked for there. */
export const SVG = "http://www.w3.org/2000/svg";

export function shape(tag: string, attributes: Attributes, ...children: Node[]): SVGElement {
  const node = having(document.createElementNS(SVG, tag), attributes);
  node.append(...children);
  return node;
}

export function words(text: string, attributes: Attributes, tag = "text"): SVGElement {
  const node = shape(tag, attributes);
  node.textContent = text;
  return node;
}

/** A path, with a tooltip where one is given. */
export function path(className: string, d: string, note = ""): SVGElement {
  return shape("path", { class: className, d }, ...(note ? [words(note, {}, "title")] : []));
}
