/** The network slider of a sweep: what a link would add to each variant, in words and as numbers. */

import * as format from "../document/format";
import { element } from "../kit/dom";
import { arrivalNs, compressionWins, LINKS, type Ride, ranked, reigns, wireNs } from "./wire";

/** Off, then the links; the keys of a range input step through them. */
export function linkSlider(changed: (bytesPerS: number | null) => void): HTMLElement {
  const input = element("input", "jsp-slider");
  input.type = "range";
  input.min = "0";
  input.max = String(LINKS.length);
  input.step = "1";
  input.value = "0";
  const shown = element("strong", "jsp-link-shown");
  const show = (): void => {
    const rate = LINKS[Number(input.value) - 1] ?? null;
    const text = rate === null ? "off" : format.link(rate);
    input.setAttribute("aria-valuetext", text);
    shown.textContent = text;
  };
  show();
  input.addEventListener("keydown", (event) => event.stopPropagation());
  input.addEventListener("input", () => {
    show();
    changed(LINKS[Number(input.value) - 1] ?? null);
  });
  return element("label", "jsp-link-row", "Network ", input, shown);
}

/** Who would be first over the link, by how much, and on which links somebody else. */
export function linkTexts(rides: readonly Ride[], bytesPerS: number, size: string): string[] {
  const order = ranked(rides, bytesPerS);
  const [first, second] = order;
  const unknown = rides.filter((ride) => ride.moved_bytes === null).map((ride) => ride.title);
  const missing =
    unknown.length > 0 ? [`n/a: ${unknown.join(", ")}, whose bytes were not counted`] : [];
  if (first === undefined) {
    return missing;
  }
  const wire = wireNs(first.moved_bytes ?? 0, bytesPerS);
  const next = second === undefined ? "" : `; then ${second.title}, ${time(second, bytesPerS)}`;
  const all = reigns(rides);
  const parts = all.map(({ ride, to_bytes_per_s }) =>
    Number.isFinite(to_bytes_per_s)
      ? `up to ${format.link(to_bytes_per_s)} ${ride.title}`
      : `${all.length > 1 ? "above" : "on every link"} ${ride.title}`,
  );
  const limit = compressionWins(all);
  const compression = !rides.some((ride) => ride.isCompressed)
    ? []
    : [
        limit === null
          ? "Compression wins on no link at this size"
          : Number.isFinite(limit)
            ? `Compression wins below ${format.link(limit)}`
            : "Compression wins on every link",
      ];
  return [
    `Predicted, ${size} over ${format.link(bytesPerS)}: ${first.title} would arrive first, ${time(first, bytesPerS)}, ${format.duration(wire)} of it on the wire${next}`,
    `Fastest: ${parts.join("; ")}`,
    ...compression,
    ...missing,
    ...aliasTexts(rides),
    "Measured time plus bytes over bandwidth: no latency, nothing overlaps, nobody else on the link",
  ];
}

function aliasTexts(rides: readonly Ride[]): string[] {
  const titles = rides.filter((ride) => ride.isAlias).map((ride) => ride.title);
  return titles.length === 0
    ? []
    : [
        `${titles.join(", ")}: here the same memory is handed over; behind a link it arrives in new memory, which is not counted`,
      ];
}

function time(ride: Ride, bytesPerS: number): string {
  return format.duration(arrivalNs(ride, bytesPerS));
}
