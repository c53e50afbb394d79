/** The colour family of a stage comes with the document; the colours are variables in style/base.css. */

export const FAMILIES = [
  "build",
  "pickle",
  "move",
  "schedule",
  "store",
  "execute",
  "other",
] as const;

export type Family = (typeof FAMILIES)[number];

/** Families whose stages carry bytes: there an unknown size was not seen, elsewhere it does not apply. */
const CARRIES_BYTES: ReadonlySet<Family> = new Set(["pickle", "move", "store"]);

/** A family that a newer document invented is drawn as "other". */
export function familyOf(name: unknown): Family {
  return FAMILIES.find((family) => family === name) ?? "other";
}

export function carriesBytes(family: Family): boolean {
  return CARRIES_BYTES.has(family);
}
