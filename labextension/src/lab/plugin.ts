/** The JupyterLab and Notebook 7 plugin: commands, cell button, side panel, settings. */

import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { IFileBrowserFactory } from "@jupyterlab/filebrowser";
import { INotebookTracker } from "@jupyterlab/notebook";
import { ISettingRegistry } from "@jupyterlab/settingregistry";

import "../../style/lab.css";
import { preferences } from "../hosts/preferences";
import { hearStop, keepPictures } from "./cells";
import { addCommands, saveProfile } from "./commands";
import { openComparison } from "./compare";
import { drawControls } from "./controls";
import { offlinePage } from "./offline";
import { ProfilesPanel } from "./panel";
import type { Profile } from "./profiles";
import { followSettings } from "./settings";

const ID = "jupyter-serprof:plugin";
/** Below the panels that JupyterLab brings along. */
const RANK = 900;

function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  palette: ICommandPalette | null,
  registry: ISettingRegistry | null,
  restorer: ILayoutRestorer | null,
  browsers: IFileBrowserFactory | null,
): void {
  preferences.page = offlinePage;
  for (const meet of [drawControls, keepPictures, hearStop]) {
    tracker.forEach(meet);
    tracker.widgetAdded.connect((_, notebook) => meet(notebook));
  }
  const panel = new ProfilesPanel(tracker, {
    jump: (profile) => void jump(app, tracker, profile),
    compare: (before, after) => void openComparison(app, before, after),
    save: (profile, kind) => void saveProfile(profile, kind),
  });
  app.shell.add(panel, "right", { rank: RANK, type: "Profiles" });
  restorer?.add(panel, panel.id);
  addCommands({ app, tracker, palette, browsers, panel: () => panel });
  if (registry !== null) {
    followSettings(registry, ID, panel).catch((reason: unknown) => {
      console.warn(`jupyter-serprof: no settings (${String(reason)}); the defaults hold`);
    });
  }
}

async function jump(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  { cell }: Profile,
): Promise<void> {
  const panel = tracker.find(({ content }) => content.widgets.includes(cell));
  if (panel === undefined || cell.isDisposed) {
    return;
  }
  const { content: notebook } = panel;
  app.shell.activateById(panel.id);
  notebook.activeCellIndex = notebook.widgets.indexOf(cell);
  // To read, not to edit: the keys of the notebook move on from here.
  notebook.mode = "command";
  await notebook.scrollToCell(cell, "start");
  notebook.activate();
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: "Profile cells, list the profiles of a notebook, compare and export them.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ICommandPalette, ISettingRegistry, ILayoutRestorer, IFileBrowserFactory],
  activate,
};

export default plugin;
