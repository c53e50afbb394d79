/** At the chosen size of a sweep: a bar for each transport, its stages as a sum, its waterfall. */

import type { Variant } from "../document/document";
import * as format from "../document/format";
import type { Stage as Shared } from "../frame/part";
import { element } from "../kit/dom";
import { segment } from "../kit/marks";
import { familyOf } from "../kit/theme";
import { waterfall } from "../waterfall/waterfall";
import { inOrder, type Run } from "./runs";
import { runAt, type SizeScene, sizeName } from "./scene";
import { movedAt } from "./series";
import { stageSums } from "./sums";
import { wireNs } from "./wire";

/** Every transport at the chosen size: one bar each on one scale, and its stages as a sum. */
export function atSize(scene: SizeScene): HTMLElement[] {
  const runs = scene.variants.map((variant) => {
    const run = runAt(scene, variant.key);
    return { variant, run, wire: run === undefined ? null : wireOf(scene, variant) };
  });
  const longest = Math.max(
    1,
    ...runs.map(({ run, wire }) => (run?.point.wall_ns ?? 0) + (wire ?? 0)),
  );
  const title = element(
    "p",
    "jsp-at-title",
    element("strong", "", `at ${sizeName(scene.doc, scene.size)}`),
    element("span", "jsp-muted", `scale 0 – ${format.duration(longest)}`),
  );
  const blocks = runs.map(({ variant, run, wire }) => {
    const amount =
      run === undefined ? "not measured" : format.duration(run.point.wall_ns + (wire ?? 0));
    const head = element(
      "p",
      "jsp-at-title",
      element("strong", "", variant.title ?? variant.key),
      element("strong", "", wire === null ? amount : `${amount}, predicted`),
    );
    const isUnknown = run !== undefined && scene.link !== null && wire === null;
    const note = isUnknown
      ? element("p", "jsp-note", "wire n/a: its bytes were not counted")
      : null;
    return run === undefined
      ? element("div", "jsp-at-block", head)
      : element(
          "div",
          `jsp-at-block${ghostOf(variant)}`,
          head,
          stackOf(scene, run, longest, wire),
          note,
        );
  });
  const chosen = scene.variants.find((variant) => variant.key === scene.variant);
  const run = chosen === undefined ? undefined : runAt(scene, chosen.key);
  const sums = chosen && run ? stageSums(chosen, [run], scene.stages) : [];
  return [title, ...blocks, ...sums];
}

function wireOf({ doc, isCold, link, size }: SizeScene, { key }: Variant): number | null {
  const moved = movedAt(doc, key, isCold, size);
  return link === null || moved === null ? null : wireNs(moved, link);
}

/** A remedy that was tried is drawn as an outline beside what it would replace. */
function ghostOf(variant: Variant): string {
  return variant.facts?.tried === true ? " jsp-ghost" : "";
}

function stackOf(scene: SizeScene, run: Run, longest: number, wire: number | null): HTMLElement {
  let rest = run.point.wall_ns;
  const parts = inOrder(run, scene.stages).map(([key, ns]) => {
    rest -= ns;
    const stage = scene.stages.get(key);
    const family = familyOf(stage?.family);
    return segment(`jsp-${family}`, ns, stage?.title ?? key, format.duration(ns));
  });
  if (rest > 0) {
    const amount = format.duration(rest);
    parts.push(segment("jsp-unaccounted", rest, "Unaccounted", amount, false));
  }
  if (wire !== null) {
    parts.push(segment("jsp-wire", wire, "wire", `${format.duration(wire)}, predicted`));
  }
  const node = element("div", "jsp-summary jsp-at-bar", ...parts);
  const share = (run.point.wall_ns + (wire ?? 0)) / longest;
  node.style.width = `${Math.max(0.5, share * 100)}%`;
  node.setAttribute("aria-hidden", "true");
  return node;
}

/** The stored waterfalls of the chosen size, each one click away. */
export function replayOf(scene: SizeScene, shared: Shared): HTMLElement {
  const stored = scene.variants.flatMap((variant) => {
    const run = runAt(scene, variant.key);
    return run?.trace ? [{ variant, trace: run.trace }] : [];
  });
  const nodes = stored.map(({ variant, trace }) => {
    const predicted = trace.prediction ? ", predicted" : "";
    const title = `Waterfall of ${variant.title ?? variant.key} at ${sizeName(scene.doc, scene.size)}${predicted}`;
    const node = element("details", "jsp-more", element("summary", "", title));
    const fill = (): void => {
      const part = waterfall(trace, shared);
      node.append(part.node);
      part.paint?.();
    };
    node.addEventListener("toggle", fill, { once: true });
    node.open = variant.key === scene.variant;
    return node;
  });
  return element("div", "", ...nodes);
}
