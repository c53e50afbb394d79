/** What marks a trace as predicted: for what, how sure, and how wrong such a guess was. */

import type { Prediction } from "../document/document";
import * as format from "../document/format";
import { element } from "../kit/dom";

export function predictionBanner(prediction: Prediction): HTMLElement {
  const { assumptions, bandwidth_bytes_per_s, high_ns, low_ns, size_bytes } = prediction;
  const link = bandwidth_bytes_per_s ? `, over ${format.link(bandwidth_bytes_per_s)}` : "";
  const facts = [
    `for ${format.bytes(size_bytes)}${link}`,
    ...(low_ns == null || high_ns == null
      ? []
      : [`wall time between ${format.duration(low_ns)} and ${format.duration(high_ns)}`]),
    ...errorTexts(prediction),
  ];
  const list = (assumptions ?? []).map((each) => element("li", "", String(each)));
  return element(
    "div",
    "jsp-banner",
    element("strong", "", "Predicted, not measured"),
    element("p", "jsp-facts", ...facts.map((fact) => element("span", "", fact))),
    list.length === 0
      ? null
      : element("div", "", element("p", "jsp-note", "It assumes:"), element("ul", "", ...list)),
  );
}

function errorTexts({ error_share, holdout_bytes, straight_error_share }: Prediction): string[] {
  if (error_share == null) {
    return ["checked at no size that was held out"];
  }
  const at = holdout_bytes == null ? "" : ` at ${format.bytes(holdout_bytes)}`;
  const straight =
    straight_error_share == null
      ? ""
      : `; a straight line missed it by ${signed(straight_error_share)}`;
  return [`held out${at}, it missed by ${signed(error_share)}${straight}`];
}

function signed(share: number): string {
  return `${share > 0 ? "+" : ""}${format.percent(share)}`;
}
