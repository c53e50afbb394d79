/**
 * Which views each bundle brings. A new view gets a provider beside it, and its name in the sets
 * that have room for it, and in `hosts/mime.ts`.
 */

import { anatomyOf } from "../blame/view";
import { comparisonOf } from "../compare/view";
import { lanesOf } from "../lanes/view";
import { roundTripOf, sizesOf } from "../sweep/views";
import { viewSet } from "./common";

/** Of one run; a sweep is a table there. */
export const TRACE = /* @__PURE__ */ viewSet([comparisonOf], [lanesOf]);
/** Of points over size; a trace has its waterfall there, and no lanes. */
export const SWEEP = /* @__PURE__ */ viewSet([comparisonOf, sizesOf, roundTripOf]);
/** Of the parts of a pickle; a trace has its waterfall there, and no lanes. */
export const ANATOMY = /* @__PURE__ */ viewSet([comparisonOf, anatomyOf]);
