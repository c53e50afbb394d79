/** Every view that there is, at once; no bundle brings them all. */

import { anatomyOf } from "../src/blame/view";
import { comparisonOf } from "../src/compare/view";
import { viewSet } from "../src/frame/common";
import { mountWith } from "../src/frame/place";
import { widgetWith } from "../src/hosts/anywidget";
import { lanesOf } from "../src/lanes/view";
import { SWEEPS } from "../src/sweep/views";

const EVERY = viewSet([comparisonOf, anatomyOf, ...SWEEPS], [lanesOf]);

export const mount = mountWith(EVERY);
export const anywidget = widgetWith(EVERY);
