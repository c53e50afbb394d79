/** Fill the template of a self-contained page, as `views/notebook/page.py` does in Python. */

export interface Filling {
  readonly title: string;
  readonly view: string;
  readonly document: unknown;
  /** HTML for readers without scripts, already escaped. */
  readonly fallback: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#x27;",
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? "");
}

/** JSON that cannot end the element it stands in, nor open a comment. */
export function inertJson(value: unknown): string {
  return JSON.stringify(value).replace(/</g, "\\u003c");
}

/** All places are filled in one pass: what is filled in is never searched. */
export function fillPage(template: string, filling: Filling): string {
  const parts: Readonly<Record<string, string>> = {
    title: escapeHtml(filling.title),
    view: escapeHtml(filling.view),
    document: inertJson(filling.document),
    fallback: filling.fallback,
  };
  return template.replace(/@@(title|view|document|fallback)@@/g, (_, name) => parts[name] ?? "");
}
