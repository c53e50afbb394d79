/** The icon as JupyterLab wants it. */

import { LabIcon } from "@jupyterlab/ui-components";
import { ICON } from "../hosts/icon";

export const serprofIcon = new LabIcon(ICON);
