/** What the reader prefers and the application can; JupyterLab's plugin fills it. */

/** What an output carries, by MIME type. */
export type Carried = Readonly<Record<string, unknown>>;

export interface Preferences {
  /** Name of the view to show first; empty: the one that fits the document. */
  view: string;
  /** Makes the page that needs no server; null where nobody can. */
  page: ((title: string, document: unknown, data: Carried) => Promise<Blob>) | null;
}

export const preferences: Preferences = { view: "", page: null };
