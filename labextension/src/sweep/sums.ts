/** One click away from a sweep: the stages of each run as a sum, and its waterfall. */

import type { Stage, Variant } from "../document/document";
import * as format from "../document/format";
import type { Stage as Shared } from "../frame/part";
import { element } from "../kit/dom";
import { swatch } from "../kit/marks";
import { familyOf } from "../kit/theme";
import { waterfall } from "../waterfall/waterfall";
import { inOrder, type Run } from "./runs";

/** "Ray, warm: msgpack walk 0.12 + Pickle 5 0.16 + ... = 65.00 ms". */
export function stageSums(
  variant: Variant,
  runs: readonly Run[],
  stages: ReadonlyMap<string, Stage>,
): HTMLElement[] {
  return runs.map((run) => {
    const scale = format.columnScale(run.point.wall_ns);
    const parts = inOrder(run, stages);
    const rest = run.point.wall_ns - parts.reduce((sum, [, ns]) => sum + ns, 0);
    const owned = [...parts.map(([, ns]) => ns), rest];
    const texts = format.column(owned, run.point.wall_ns, scale.decimals, scale.unitNs);
    const terms = parts.map(([key], index) => {
      const stage = stages.get(key);
      return term(familyOf(stage?.family), stage?.title ?? key, texts[index] as string);
    });
    terms.push(term("unaccounted", "Unaccounted", texts.at(-1) as string));
    const wall = `${format.fixed(run.point.wall_ns / scale.unitNs, scale.decimals)}\u00a0${scale.unit}`;
    const label = `${variant.title ?? variant.key}, ${run.cold ? "cold" : "warm"}`;
    return element(
      "p",
      "jsp-sum",
      element("span", "jsp-sum-label", label),
      ...terms,
      element("strong", "jsp-sum-total", `= ${wall}`),
    );
  });
}

function term(family: Parameters<typeof swatch>[0], title: string, amount: string): HTMLElement {
  return element("span", "jsp-term", swatch(family), title, " ", element("strong", "", amount));
}

/** The waterfalls are built when first opened: a long sweep holds many. */
export function expandable(
  variant: Variant,
  sums: readonly HTMLElement[],
  runs: readonly Run[],
  shared: Shared,
): HTMLElement {
  const title = `Stages of ${variant.title ?? variant.key}`;
  const node = element("details", "jsp-more", element("summary", "", title), ...sums);
  node.append(...(buffers(variant) ?? []));
  node.addEventListener(
    "toggle",
    () => {
      for (const run of runs) {
        if (run.trace !== null) {
          const size = format.bytes(run.point.size_bytes);
          const caption = `${run.cold ? "cold" : "median warm"} run, ${size}`;
          const part = waterfall(run.trace, shared);
          node.append(element("p", "jsp-note", caption), part.node);
          part.paint?.();
        }
      }
    },
    { once: true },
  );
  return node;
}

function buffers(variant: Variant): HTMLElement[] | null {
  const entries = (variant.buffers ?? []).map(([size, place]) =>
    element("li", "", `${format.bytes(Number(size))} ${place}`),
  );
  return entries.length === 0
    ? null
    : [element("p", "jsp-note", "Buffers"), element("ul", "jsp-buffers", ...entries)];
}
