/** What the reader prefers; JupyterLab's settings fill it, elsewhere the defaults hold. */

export interface Preferences {
  /** Name of the view to show first; empty: the one that fits the document. */
  view: string;
}

export const preferences: Preferences = { view: "" };
