/** Save a profile from the notebook as a file, without a kernel. */

import { offlinePage, pictureOf } from "./offline";
import type { Profile } from "./profiles";

export type ExportKind = "html" | "png" | "json";

/** Return what is to be saved; null when the output carries no picture. */
export async function exported(profile: Profile, kind: ExportKind): Promise<Blob | null> {
  if (kind === "json") {
    return new Blob([JSON.stringify(profile.document)], { type: "application/json" });
  }
  const { title, document, data } = profile;
  if (kind === "html") {
    return offlinePage(title, document, data);
  }
  const picture = pictureOf(data);
  const bytes = Uint8Array.from(atob(picture ?? ""), (sign) => sign.charCodeAt(0));
  return picture === null ? null : new Blob([bytes], { type: "image/png" });
}
