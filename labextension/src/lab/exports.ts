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

export function fileName(profile: Profile, kind: ExportKind): string {
  const stem = profile.title
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60);
  return `${stem === "" ? "profile" : stem}.serprof.${kind}`;
}

export function download(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has taken the blob by the next task.
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}

function pngBlob(base64: string): Blob {
  return new Blob([Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0))], {
    type: "image/png",
  });
}
