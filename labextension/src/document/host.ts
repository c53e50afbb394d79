/** What the views may ask of the page around them; everything is optional and has a fall-back. */

export interface Host {
  /** The view to show first, by its key in frame/registry.ts: "waterfall", "anatomy", "sweep" ...; "" is the first. */
  readonly view?: string;
  /** Offer a file to the reader; without it the browser's own download is used. */
  save?(name: string, blob: Blob): void;
  /** Make a page that needs no kernel from a document; without it none is offered. */
  page?(document: unknown): Promise<Blob> | Blob;
  /** Put text on the clipboard; without it the browser's own clipboard is used. */
  copy?(text: string): Promise<void> | void;
}

/** A picture that is on the page. */
export interface View {
  update(document: unknown): void;
  destroy(): void;
}

/** Two documents side by side. */
export interface CompareView {
  update(before: unknown, after: unknown): void;
  destroy(): void;
}
