/** The commands: their names, labels, and when they can be used. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { type ICommandPalette, InputDialog, Notification } from "@jupyterlab/apputils";
import type { IFileBrowserFactory } from "@jupyterlab/filebrowser";
import type { INotebookTracker, Notebook } from "@jupyterlab/notebook";

import { fileName, saveFile } from "../kit/clip";
import { isCode, runWithMagic } from "./cells";
import { type Compared, comparedFile, openComparison } from "./compare";
import { type ExportKind, exported } from "./exports";
import { serprofIcon } from "./icon";
import type { CellMagic } from "./magic";
import type { ProfilesPanel } from "./panel";
import { type Profile, profilesOf, profilesOfCell } from "./profiles";

const CATEGORY = "Serialization profiles";

export interface Surroundings {
  readonly app: JupyterFrontEnd;
  readonly tracker: INotebookTracker;
  readonly palette: ICommandPalette | null;
  readonly browsers: IFileBrowserFactory | null;
  panel(): ProfilesPanel;
}

export function addCommands(around: Surroundings): void {
  addCellCommand(around, "serprof:profile-cell", "Profile this cell", "%%serprof");
  const stages = "Stages of cell with %%graphstages";
  addCellCommand(around, "serprof:stages-of-cell", stages, "%%graphstages");
  add(around, "serprof:open-panel", "Open the profiles of this notebook", {
    isEnabled: () => true,
    execute: () => around.app.shell.activateById(around.panel().id),
  });
  add(around, "serprof:compare", "Compare two profiles", {
    isEnabled: () => known(around).length + (around.panel().baseline === null ? 0 : 1) > 1,
    execute: () => compareTwo(around),
  });
  const isVisible = (): boolean => chosenFiles(around).length === 2;
  add(around, "serprof:compare-files", "Compare", {
    isEnabled: isVisible,
    isVisible,
    execute: () => compareFiles(around),
  });
  for (const kind of ["html", "png", "json"] as const) {
    add(around, `serprof:export-${kind}`, `Export profile as ${kind.toUpperCase()}`, {
      isEnabled: () => known(around).length > 0,
      execute: () => exportOne(around, kind),
    });
  }
}

interface Act {
  isEnabled(): boolean;
  isVisible?(): boolean;
  execute(args: Readonly<Record<string, unknown>>): void | Promise<void>;
}

function add({ app, palette }: Surroundings, id: string, label: string, act: Act): void {
  app.commands.addCommand(id, {
    label,
    caption: label,
    icon: serprofIcon,
    describedBy: { args: { type: "object", properties: {} } },
    isEnabled: () => act.isEnabled(),
    isVisible: () => act.isVisible?.() ?? true,
    execute: (args) => act.execute(args),
  });
  const shown = act.isVisible === undefined ? palette : null;
  shown?.addItem({ command: id, category: CATEGORY });
}

function addCellCommand(around: Surroundings, id: string, label: string, magic: CellMagic): void {
  add(around, id, label, {
    isEnabled: () => isCode(around.tracker.activeCell),
    execute: async ({ clicked }) => {
      const panel = around.tracker.currentWidget;
      if (panel !== null) {
        // A right click opens the menu of a cell, but another cell may be the active one.
        const at = clicked === true ? clickedCell(around, panel.content) : -1;
        panel.content.activeCellIndex = at < 0 ? panel.content.activeCellIndex : at;
        await runWithMagic(panel, magic);
      }
    },
  });
}

function clickedCell({ app }: Surroundings, { widgets }: Notebook): number {
  const node = app.contextMenuHitTest(({ classList }) => classList.contains("jp-Cell"));
  return widgets.findIndex((cell) => cell.node === node);
}

function known({ tracker }: Surroundings): Profile[] {
  return profilesOf(tracker.currentWidget?.content ?? null);
}

/** Both are asked for; a pinned one is what is proposed first. */
async function compareTwo(around: Surroundings): Promise<void> {
  const { baseline } = around.panel();
  const profiles: readonly Compared[] = known(around);
  const others = (one: Compared | null) => profiles.filter(({ output }) => output !== one?.output);
  const all = baseline === null ? profiles : [...others(baseline), baseline];
  if (all.length < 2) {
    Notification.warning("Compare needs two profiles: run another cell with %%serprof first.");
    return;
  }
  const before = await choose("Compare: which profile is before", all);
  const after = before && (await choose(`${before.title}, and after`, others(before)));
  if (before && after) {
    await openComparison(around.app, before, after);
  }
}

/** The two profiles that are chosen in the file browser, the older one first; else none. */
function chosenFiles({ browsers }: Surroundings): string[] {
  const items = [...(browsers?.tracker.currentWidget?.selectedItems() ?? [])];
  const isTwo = items.length === 2 && items.every(({ path }) => path.endsWith(".serprof.json"));
  const time = (text: string): number => new Date(text).getTime();
  const ordered = items.toSorted((a, b) => time(a.last_modified) - time(b.last_modified));
  return isTwo ? ordered.map(({ path }) => path) : [];
}

async function compareFiles(around: Surroundings): Promise<void> {
  const files = chosenFiles(around).map((path) => comparedFile(around.app, path));
  const [before, after] = await Promise.all(files);
  if (before && after) {
    await openComparison(around.app, before, after);
  }
}

async function exportOne(around: Surroundings, kind: ExportKind): Promise<void> {
  const cell = around.tracker.activeCell;
  const here = cell === null ? [] : profilesOfCell(cell);
  const profile = await choose("Export which profile", here.length > 0 ? here : known(around));
  if (profile !== null) {
    await saveProfile(profile, kind);
  }
}

export async function saveProfile(profile: Profile, kind: ExportKind): Promise<void> {
  const blob = await exported(profile, kind);
  if (blob === null) {
    Notification.warning("This output carries no picture. Run the cell again to draw one.");
    return;
  }
  saveFile({}, fileName(profile.title, `.serprof.${kind}`), blob);
}

async function choose<P extends Compared>(title: string, profiles: readonly P[]) {
  if (profiles.length < 2) {
    return profiles[0] ?? null;
  }
  const items = profiles.map(({ title: name, about }, i) => `${i + 1}. ${name} ${about}`);
  const answer = await InputDialog.getItem({ title, items, current: items.length - 1 });
  const at = answer.button.accept && answer.value !== null ? items.indexOf(answer.value) : -1;
  return profiles[at] ?? null;
}
