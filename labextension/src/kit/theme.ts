/**
 * Colours of the moment. The family of a stage comes with the document; the colours are variables
 * in style/theme.css and base.css, which follow the theme of the page; a canvas has to be told.
 */

export const FAMILIES = [
  "build",
  "pickle",
  "move",
  "schedule",
  "store",
  "execute",
  "other",
] as const;

/** The line of a transport has one colour in every sweep. */
export const WAYS =
  "pickle pickle-oob cloudpickle ray dask dask-scatter pickle4 arrow lz4 zstd".split(" ");
export type Family = (typeof FAMILIES)[number];

/** Families whose stages carry bytes: there an unknown size was not seen, elsewhere it does not apply. */
const CARRIES_BYTES: ReadonlySet<Family> = new Set(["pickle", "move", "store"]);

/** A family that a newer document invented is drawn as "other". */
export function familyOf(name: unknown): Family {
  return FAMILIES.find((family) => family === name) ?? "other";
}

export function carriesBytes(family: Family): boolean {
  return CARRIES_BYTES.has(family);
}

/** What a canvas paints with. */
export interface Colours {
  readonly background: string;
  readonly ink: string;
  /** Waits, labels beside bars, axis. */
  readonly quiet: string;
  readonly line: string;
  readonly accent: string;
  /** What only holds other parts. */
  readonly container: string;
  readonly warn: string;
  readonly font: string;
  /** By kind: the families, then the wait. */
  readonly kinds: readonly string[];
  readonly labels: readonly string[];
}

export function coloursOf(root: Element): Colours {
  const style = getComputedStyle(root);
  const read = (name: string): string => style.getPropertyValue(`--jsp-${name}`).trim();
  const quiet = read("ink-2");
  return {
    background: read("bg"),
    ink: read("ink"),
    quiet,
    line: read("line-3"),
    accent: read("accent"),
    container: read("line-2"),
    warn: read("warn"),
    font: read("ui"),
    kinds: [...FAMILIES.map(read), quiet],
    labels: [...FAMILIES.map((family) => read(`on-${family}`)), quiet],
  };
}

/** How JupyterLab, Colab, VS Code and plain pages say which theme they have. */
const THEME_ATTRIBUTES =
  "data-jp-theme-light data-jp-theme-name data-vscode-theme-kind data-theme theme class".split(" ");
/** JupyterLab sets its attribute before the style sheet of the theme has arrived. */
const STYLE_SHEET_MS = 400;

/** Call back when the colours of an element may have changed; returns how to stop. */
export function watchTheme(root: Element, changed: () => void): () => void {
  let seen = JSON.stringify(coloursOf(root));
  const look = (): void => {
    const now = JSON.stringify(coloursOf(root));
    if (now !== seen) {
      seen = now;
      changed();
    }
  };
  let timer = 0;
  const soon = (): void => {
    look();
    clearTimeout(timer);
    timer = window.setTimeout(look, STYLE_SHEET_MS);
  };
  const observer = new MutationObserver(soon);
  for (const node of [document.documentElement, document.body]) {
    observer.observe(node, { attributes: true, attributeFilter: THEME_ATTRIBUTES });
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", soon);
  return () => {
    observer.disconnect();
    system.removeEventListener("change", soon);
    clearTimeout(timer);
  };
}
