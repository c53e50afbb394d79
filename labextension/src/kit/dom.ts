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

/** Place a mark on a plot; what reaches beyond its ends (shares of the width, 0..1) is cut. */
export function place<T extends HTMLElement>(node: T, left: number, width: number): T {
  const from = Math.min(1, Math.max(0, left || 0));
  const to = Math.min(1, Math.max(from, left + width || 0));
  node.style.left = `${(from * 100).toFixed(3)}%`;
  node.style.width = `${((to - from) * 100).toFixed(3)}%`;
  return node;
}
