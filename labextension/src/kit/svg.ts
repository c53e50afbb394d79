/** Build SVG elements; text of a document only ever enters as a text node. */

export type Attributes = Readonly<Record<string, string | number>>;

/** The name of the format, not an address: nothing is ever asked for there. */
export const SVG = "http://www.w3.org/2000/svg";

export function shape(tag: string, attributes: Attributes, ...children: Node[]): SVGElement {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}

export function words(text: string, attributes: Attributes, tag = "text"): SVGElement {
  const node = shape(tag, attributes);
  node.textContent = text;
  return node;
}

export function path(className: string, d: string): SVGElement {
  return shape("path", { class: className, d });
}
