/** What a remedy has gained when it was tried, in words. */

import { type Finding, known, textOf } from "../document/document";
import { count, duration, fixed, ratio } from "../document/format";

/** A remedy that was tried: how long the stage took then. */
export interface Measured {
  /** Empty: the wall time. */
  readonly stage: string;
  readonly after_ns: number;
  /** "measured: 3.2× [2.9–3.5], 15 pairs". */
  readonly text: string;
}

export function measuredOf({ gain, measured }: Finding): Measured | null {
  if (measured == null || typeof measured !== "object") {
    return null;
  }
  const after_ns = known(measured.after_ns);
  const before_ns = known(measured.before_ns);
  const times =
    known(gain) ?? (before_ns !== null && after_ns !== null ? before_ns / after_ns : null);
  const [low, high, pairs] = [measured.low, measured.high, measured.pairs].map(known);
  const hasInterval = low != null && high != null;
  const cannotTell = hasInterval && low <= 1 && high >= 1;
  const texts = [
    times === null
      ? duration(after_ns)
      : `${ratio(times)}${hasInterval ? ` [${fixed(low, 1)}–${fixed(high, 1)}]` : ""}`,
    cannotTell ? "cannot tell" : "",
    pairs == null ? "" : `${count(pairs)} pairs`,
    measured.equal === true ? "equal result" : "",
    measured.equal === false ? "a different result" : "",
  ];
  const text = `measured: ${texts.filter((each) => each !== "").join(", ")}`;
  const stage = after_ns === null ? "" : textOf(measured.stage);
  return { stage, after_ns: after_ns ?? 0, text };
}
