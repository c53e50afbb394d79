/** The commands: their names, labels, and when they can be used. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { type ICommandPalette, InputDialog, Notification } from "@jupyterlab/apputils";
import type { INotebookTracker } from "@jupyterlab/notebook";

import { fileName, saveFile } from "../kit/clip";
import { isCode, runWithMagic } from "./cells";
import { type Compared, openComparison } from "./compare";
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
  panel(): ProfilesPanel;
}

export function addCommands(around: Surroundings): void {
  addCellCommand(around, "serprof:profile-cell", "Profile cell with %%serprof", "%%serprof");
  addCellCommand(
    around,
    "serprof:stages-of-cell",
    "Stages of cell with %%graphstages",
    "%%graphstages",
  );
  add(around, "serprof:open-panel", "Open the profiles of this notebook", {
    isEnabled: () => true,
    execute: () => around.app.shell.activateById(around.panel().id),
  });
  add(around, "serprof:compare", "Compare two profiles", {
    isEnabled: () => known(around).length + (around.panel().baseline === null ? 0 : 1) > 1,
    execute: () => compareTwo(around),
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
  execute(): void | Promise<void>;
}

function add({ app, palette }: Surroundings, id: string, label: string, act: Act): void {
  app.commands.addCommand(id, {
    label,
    caption: label,
    icon: serprofIcon,
    describedBy: { args: { type: "object", properties: {} } },
    isEnabled: () => act.isEnabled(),
    execute: () => act.execute(),
  });
  palette?.addItem({ command: id, category: CATEGORY });
}

function addCellCommand(around: Surroundings, id: string, label: string, magic: CellMagic): void {
  add(around, id, label, {
    isEnabled: () => isCode(around.tracker.activeCell),
    execute: async () => {
      const panel = around.tracker.currentWidget;
      if (panel !== null) {
        await runWithMagic(panel, magic);
      }
    },
  });
}

function known({ tracker }: Surroundings): Profile[] {
  return profilesOf(tracker.currentWidget?.content ?? null);
}

/** With a baseline, one is asked for; without, the two to compare. */
async function compareTwo(around: Surroundings): Promise<void> {
  const profiles = known(around);
  const before: Compared | null =
    around.panel().baseline ?? (await choose("Compare which profile", profiles));
  if (before === null) {
    return;
  }
  const others = profiles.filter((profile) => profile.output !== before.output);
  const after = others.length === 1 ? others[0] : await choose(`${before.title} with`, others);
  if (after) {
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

async function choose(title: string, profiles: readonly Profile[]): Promise<Profile | null> {
  if (profiles.length < 2) {
    return profiles[0] ?? null;
  }
  const items = profiles.map(({ title: name, about }, i) => `${i + 1}. ${name} ${about}`);
  const answer = await InputDialog.getItem({ title, items, current: items.length - 1 });
  const at = answer.button.accept && answer.value !== null ? items.indexOf(answer.value) : -1;
  return profiles[at] ?? null;
}
