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

/** The same, with a tooltip. */
export function titled<T extends HTMLElement>(node: T, title: string): T {
  node.title = title;
  return node;
}

/** Place a mark on a plot; `left` and `width` are shares of its width, 0..1. */
export function place<T extends HTMLElement>(node: T, left: number, width: number): T {
  node.style.left = `${(left * 100).toFixed(3)}%`;
  node.style.width = `${(width * 100).toFixed(3)}%`;
  return node;
}
