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
  const picture = pictureOf(data);
  if (kind === "png") {
    return picture === null ? null : pngBlob(picture);
  }
  return offlinePage(title, document, data);
}

function pngBlob(base64: string): Blob {
  return new Blob([Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0))], {
    type: "image/png",
  });
}
