/** A remedy that was tried: an outline below the stage that it would change. */

import type { DrawnTrace, Stage } from "../document/document";
import * as format from "../document/format";
import { measuredOf } from "../frame/measured";
import { element, titled } from "../kit/dom";
import { indent, line, type Scene } from "./line";
import { piecesPlot } from "./plot";

/** Rows for what findings have measured of a stage; null is the wall time. */
export function ghostRows(
  scene: Scene,
  stage: Stage | null,
  startNs: number,
  depth: number,
): HTMLElement[] {
  const { columns, guide, trace } = scene;
  return (trace.findings ?? []).flatMap((finding) => {
    const measured = measuredOf(finding);
    if (measured === null || measured.after_ns <= 0 || !isOf(trace, measured.stage, stage)) {
      return [];
    }
    const { after_ns, text } = measured;
    const drawn = stage ?? { title: "Wall time", key: "", order: 0 };
    const texts = [`${format.duration(after_ns)}, ${text}`, text, format.duration(after_ns)];
    const plot = piecesPlot(trace, drawn, [[startNs, after_ns]], 1, texts, guide);
    scene.plots.push(plot);
    plot.node.classList.add("jsp-ghost");
    const name = titled(element("span", "jsp-stage-name", `tried: ${finding.title}`), text);
    const row = line([name], plot.node, columns, (column) =>
      column.title === "self" ? `(${inUnit(trace, after_ns)})` : format.NOT_APPLICABLE,
    );
    row.classList.add("jsp-child");
    indent(row, depth);
    return [row];
  });
}

/** In brackets: it does not add up with the column. */
function inUnit({ wall_ns }: DrawnTrace, ns: number): string {
  const scale = format.columnScale(wall_ns);
  return format.fixed(ns / scale.unitNs, scale.decimals);
}

/** A stage that nobody recorded here is part of the wall time. */
function isOf(trace: DrawnTrace, key: string, stage: Stage | null): boolean {
  const isRecorded = trace.waterfall.rows.some((row) => trace.stages[row.stage]?.key === key);
  return stage === null ? !isRecorded : stage.key === key;
}
