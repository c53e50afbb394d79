/** What a view gives to the shell around it, and what the shell gives to a view. */

import type { Columns } from "../document/decode";
import type { DrawnTrace, SerprofDocument } from "../document/document";
import type { Host } from "../document/host";

export interface Part {
  readonly node: HTMLElement;
  /** Called when the part is on the page, and again when its size or the theme has changed. */
  paint?(): void;
  search?(words: string): void;
  /** What the search box says it looks for. */
  readonly searchLabel?: string;
  /** The keys that it knows, in the help. */
  readonly help?: Help;
  destroy?(): void;
}

export interface Help {
  readonly title: string;
  readonly keys: readonly (readonly [string, string])[];
}

/** What every view may use. */
export interface Stage {
  readonly host: Host;
  /** Spans of a trace, once they are inflated; the same promise for the same trace. */
  columnsOf(trace: DrawnTrace): Promise<Columns>;
  /** Say something to people who listen instead of looking. */
  say(text: string): void;
  focusSearch(): void;
  toggleHelp(): void;
  openView(key: string): void;
}

/** One entry of the view switch. */
export interface Entry {
  readonly key: string;
  readonly title: string;
  readonly badge: string;
  build(stage: Stage): Part;
}

/** Gives the entries that a document has: none, one, or several. */
export type Provider = (doc: SerprofDocument) => readonly Entry[];

export const entry = (key: string, title: string, build: Entry["build"], badge = ""): [Entry] => [
  { key, title, build, badge },
];

/** The views of one bundle, in the order of the switch. */
export type ViewSet = readonly Provider[];
