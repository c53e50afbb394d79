/** The side panel: the profiles of the current notebook, one of them pinned as baseline. */

import type { INotebookTracker } from "@jupyterlab/notebook";
import { DisposableDelegate, type IDisposable } from "@lumino/disposable";
import { Debouncer } from "@lumino/polling";
import { Widget } from "@lumino/widgets";
import { bytes } from "../document/format";
import { button, element, having } from "../kit/dom";
import type { Compared } from "./compare";
import type { ExportKind } from "./exports";
import { serprofIcon } from "./icon";
import { type Profile, profilesOf } from "./profiles";

/** What the panel asks of the plugin. */
export interface PanelActions {
  jump(profile: Profile): void;
  compare(before: Compared, after: Compared): void;
  save(profile: Profile, kind: ExportKind): void;
}

const REFRESH_MS = 150;
const KINDS: readonly ExportKind[] = ["html", "png", "json"];
const EMPTY = "No profiles here yet. Begin a cell with %%serprof, or press the button of a cell.";

export class ProfilesPanel extends Widget {
  readonly #tracker: INotebookTracker;
  readonly #actions: PanelActions;
  readonly #list = element("ul", "jsp-side-list");
  readonly #note = element("p", "jsp-side-note", EMPTY);
  readonly #pinned = element("p", "jsp-side-pinned");
  readonly #refresh = new Debouncer(() => this.#paint(), REFRESH_MS);
  #followed: IDisposable | null = null;
  #baseline: Compared | null = null;
  #capBytes = Number.POSITIVE_INFINITY;
  #profiles: readonly Profile[] = [];
  /** What the list shows: one that says the same stays, since somebody may be pressing a button. */
  #shown = "";

  constructor(tracker: INotebookTracker, actions: PanelActions) {
    super();
    this.#tracker = tracker;
    this.#actions = actions;
    this.id = "jupyter-serprof:panel";
    this.addClass("jsp-side");
    this.title.icon = serprofIcon;
    this.title.caption = "Serialization profiles of this notebook";
    having(this.node, { role: "region", "aria-label": "Serialization profiles" });
    this.node.append(element("h2", "", "Profiles"), this.#pinned, this.#note, this.#list);
    tracker.currentChanged.connect(this.#follow, this);
    this.#follow();
  }

  get baseline(): Compared | null {
    return this.#baseline;
  }

  /** Outputs above this size are marked: they make the notebook heavy to share. */
  set capBytes(value: number) {
    this.#capBytes = value;
    void this.#refresh.invoke();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.#tracker.currentChanged.disconnect(this.#follow, this);
      this.#followed?.dispose();
      this.#refresh.dispose();
    }
    super.dispose();
  }

  #follow(): void {
    this.#followed?.dispose();
    const changed = this.#tracker.currentWidget?.content.model?.contentChanged;
    const refresh = (): void => {
      if (!this.isDisposed) {
        void this.#refresh.invoke().catch(() => undefined);
      }
    };
    changed?.connect(refresh);
    this.#followed = new DisposableDelegate(() => changed?.disconnect(refresh));
    this.#paint();
  }

  #paint(): void {
    if (this.isDisposed) {
      return;
    }
    this.#profiles = profilesOf(this.#tracker.currentWidget?.content ?? null);
    const shown = JSON.stringify(this.#profiles.map((profile) => this.#textOf(profile)));
    if (shown !== this.#shown) {
      this.#shown = shown;
      this.#paintList();
    }
    this.#note.hidden = this.#profiles.length > 0;
    this.#paintPinned();
    this.node.dataset.count = String(this.#profiles.length);
  }

  #paintList(): void {
    const focused = this.node.contains(document.activeElement)
      ? document.activeElement?.getAttribute("data-jsp-key")
      : null;
    this.#list.replaceChildren(...this.#profiles.map((profile, i) => this.#item(profile, i)));
    if (focused) {
      this.#list.querySelector<HTMLElement>(`[data-jsp-key="${focused}"]`)?.focus();
    }
  }

  /** All that the item of a profile says or marks. */
  #textOf(profile: Profile): unknown[] {
    const { title, about, sizeBytes } = profile;
    const heavyBytes = sizeBytes > this.#capBytes ? sizeBytes : 0;
    return [title, about, heavyBytes, this.#isPinned(profile), this.#baseline === null];
  }

  #isPinned({ output }: Profile): boolean {
    return this.#baseline?.output === output;
  }

  /** A button for the profile that is at a position when it is pressed, perhaps a newer one. */
  #button(
    i: number,
    key: string,
    text: string,
    title: string,
    act: (profile: Profile) => void,
  ): HTMLButtonElement {
    const pressed = (): void => {
      const now = this.#profiles[i];
      if (now !== undefined) {
        act(now);
      }
    };
    return having(button("", pressed, text), { "data-jsp-key": `${i}:${key}`, title });
  }

  #paintPinned(): void {
    this.#pinned.hidden = this.#baseline === null;
    if (this.#baseline !== null) {
      const { title, about } = this.#baseline;
      this.#pinned.textContent = `Baseline: ${title} ${about}`;
    }
  }

  #item(profile: Profile, i: number): HTMLElement {
    const isPinned = this.#isPinned(profile);
    const { jump: go, save } = this.#actions;
    const jump = this.#button(i, "jump", profile.title, "Go to the cell", (now) => go(now));
    jump.classList.add("jsp-side-title");
    const why = "Baseline of comparisons; it stays when the cell runs again";
    const pinned = (now: Profile): void => this.#pin(now);
    const pin = this.#button(i, "pin", isPinned ? "Unpin" : "Pin", why, pinned);
    pin.setAttribute("aria-pressed", String(isPinned));
    const isAlone = this.#baseline === null || isPinned;
    const how = isAlone ? "Pin another profile first" : "Compare with the baseline";
    const compare = this.#button(i, "compare", "Compare", how, (now) => this.#compare(now));
    compare.disabled = isAlone;
    const saves = KINDS.map((kind) => {
      const title = kind.toUpperCase();
      return this.#button(i, kind, title, `Export as ${title}`, (now) => save(now, kind));
    });
    const item = element("li", isPinned ? "jsp-side-item jsp-is-pinned" : "jsp-side-item");
    const acts = element("div", "jsp-side-acts", pin, compare, ...saves);
    for (const act of [jump, ...acts.querySelectorAll("button")]) {
      const said = act === jump ? `Go to ${profile.title}` : `${act.textContent} ${profile.title}`;
      act.setAttribute("aria-label", `${said} ${profile.about}`);
    }
    item.append(jump, element("p", "jsp-side-about", profile.about), acts, ...this.#size(profile));
    return item;
  }

  #size({ sizeBytes }: Profile): HTMLElement[] {
    const text = `${bytes(sizeBytes)} in the notebook; profile with --save FILE to keep it beside`;
    return sizeBytes > this.#capBytes ? [element("p", "jsp-side-heavy", text)] : [];
  }

  #pin(profile: Profile): void {
    const { title, about, document, output } = profile;
    this.#baseline = this.#isPinned(profile) ? null : { title, about, document, output };
    this.#paint();
  }

  #compare(profile: Profile): void {
    if (this.#baseline !== null) {
      this.#actions.compare(this.#baseline, profile);
    }
  }
}
