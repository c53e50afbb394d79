/** The network slider of a sweep: what a link would add to each variant, in words and as numbers. */

import * as format from "../document/format";
import { slider } from "../kit/controls";
import { element } from "../kit/dom";

/** Off, then the links; the keys of a range input step through them. */
export function linkSlider(changed: (bytesPerS: number | null) => void): HTMLElement {
  const shown = element("strong", "jsp-link-shown");
  const say = (at: number): string => {
    const rate = LINKS[at - 1];
    shown.textContent = rate === undefined ? "off" : format.link(rate);
    return shown.textContent;
  };
  const input = slider(LINKS.length, 0, say, (at) => changed(LINKS[at - 1] ?? null));
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
  return [
    `Predicted, ${size} over ${format.link(bytesPerS)}: ${first.title} would arrive first, ${time(first, bytesPerS)}, ${format.duration(wire)} of it on the network${next}`,
    `Fastest: ${parts.join("; ")}`,
    ...(rides.some((ride) => ride.isCompressed) ? [compressionText(compressionWins(all))] : []),
    ...missing,
    ...aliasTexts(rides),
    "Measured time plus bytes over bandwidth: no latency, nothing overlaps, nobody else on the link",
  ];
}

function compressionText(limit: number | null): string {
  if (limit === null) {
    return "Compression wins on no link at this size";
  }
  const where = Number.isFinite(limit) ? `below ${format.link(limit)}` : "on every link";
  return `Compression wins ${where}`;
}

function aliasTexts(rides: readonly Ride[]): string[] {
  const titles = rides.filter((ride) => ride.isAlias).map((ride) => ride.title);
  const text = `${titles.join(", ")}: here the same memory is handed over; behind a link it arrives in new memory, which is not counted`;
  return titles.length === 0 ? [] : [text];
}

function time(ride: Ride, bytesPerS: number): string {
  return format.duration(arrivalNs(ride, bytesPerS));
}

// Which variant would arrive first over a link: what was measured, plus its bytes over the
// bandwidth. A sum, no measurement: nothing is sent while something is still being pickled.
/** Links of people, from a slow line to a fast cluster, bytes/s. */
export const LINKS: readonly number[] = [
  10e6, 20e6, 50e6, 100e6, 200e6, 500e6, 1e9, 2e9, 5e9, 10e9, 20e9, 50e9, 100e9,
].map((bits) => bits / 8);

export interface Ride {
  readonly title: string;
  readonly wall_ns: number;
  /** null: nobody knows, so nothing can be said. */
  readonly moved_bytes: number | null;
  readonly isCompressed: boolean;
  /** Its result is the value itself: no new memory was needed, as there is behind a link. */
  readonly isAlias: boolean;
}

export function wireNs(movedBytes: number, bytesPerS: number): number {
  return (movedBytes / bytesPerS) * 1e9;
}

export function arrivalNs({ moved_bytes, wall_ns }: Ride, bytesPerS: number): number | null {
  return moved_bytes === null ? null : wall_ns + wireNs(moved_bytes, bytesPerS);
}

/** The first to arrive, first; those of unknown bytes are left out. */
export function ranked(rides: readonly Ride[], bytesPerS: number): Ride[] {
  const time = (ride: Ride): number => arrivalNs(ride, bytesPerS) ?? Number.POSITIVE_INFINITY;
  return rides.filter((ride) => ride.moved_bytes !== null).toSorted((a, b) => time(a) - time(b));
}

/** Up to which bandwidth a variant arrives first; the last one has no end. */
export interface Reign {
  readonly ride: Ride;
  readonly to_bytes_per_s: number;
}

/** Who wins from the slowest link to the fastest. */
export function reigns(rides: readonly Ride[]): Reign[] {
  const known = rides.filter((ride) => ride.moved_bytes !== null);
  const crossings = known
    .flatMap((one) => known.flatMap((other) => crossing(one, other) ?? []))
    .toSorted((a, b) => a - b);
  const ends = [...new Set(crossings), Number.POSITIVE_INFINITY];
  const out: Reign[] = [];
  let from = 0;
  for (const end of ends) {
    const inside = Number.isFinite(end) ? (from + end) / 2 : from * 2 || 1;
    const ride = ranked(known, inside)[0];
    if (ride !== undefined) {
      if (out.at(-1)?.ride === ride) {
        out.pop();
      }
      out.push({ ride, to_bytes_per_s: end });
    }
    from = end;
  }
  return out;
}

/** Where the one with fewer bytes and more time is as fast as the other, bytes/s. */
function crossing(one: Ride, other: Ride): number | null {
  const fewer = (other.moved_bytes ?? 0) - (one.moved_bytes ?? 0);
  const longer = one.wall_ns - other.wall_ns;
  return fewer > 0 && longer > 0 ? (fewer / longer) * 1e9 : null;
}

/** Below which bandwidth a compressed variant arrives first; null where it never does. */
export function compressionWins(all: readonly Reign[]): number | null {
  const won = all.filter(({ ride }) => ride.isCompressed);
  return won.at(-1)?.to_bytes_per_s ?? null;
}
