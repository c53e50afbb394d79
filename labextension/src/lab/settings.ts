/** Settings of the reader: first view, palette, and the size from which an output is marked. */

import type { ISettingRegistry } from "@jupyterlab/settingregistry";

import { textOf } from "../document/document";
import { preferences } from "../hosts/preferences";
import type { ProfilesPanel } from "./panel";

export async function followSettings(
  registry: ISettingRegistry,
  plugin: string,
  panel: ProfilesPanel,
): Promise<void> {
  const settings = await registry.load(plugin);
  const apply = (): void => {
    const { defaultView, palette, embedCapKB } = settings.composite;
    preferences.view = textOf(defaultView);
    panel.capBytes = (typeof embedCapKB === "number" ? embedCapKB : 250) * 1000;
    document.body.dataset.jspPalette = textOf(palette);
  };
  settings.changed.connect(apply);
  apply();
}
