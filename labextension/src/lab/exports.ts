/** Save a profile from the notebook as a file, without a kernel. */

import { plainText } from "../hosts/plain";
import { escapeHtml, fillPage } from "../hosts/template";
import type { Profile } from "./profiles";

export type ExportKind = "html" | "png" | "json";

/** Return what is to be saved; null when the output carries no picture. */
export async function exported(profile: Profile, kind: ExportKind): Promise<Blob | null> {
  if (kind === "json") {
    return new Blob([JSON.stringify(profile.document)], { type: "application/json" });
  }
  const picture = pictureOf(profile);
  if (kind === "png") {
    return picture === null ? null : pngBlob(picture);
  }
  // Loaded when it is needed: the page holds the renderer a second time.
  const { default: template } = await import("../hosts/page.txt");
  const filling = { title: profile.title, view: "", document: profile.document };
  const page = fillPage(template, { ...filling, fallback: fallbackOf(profile, picture) });
  return new Blob([page], { type: "text/html" });
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

function pictureOf(profile: Profile): string | null {
  const picture = profile.data["image/png"];
  const text = typeof picture === "string" ? picture.replace(/\s/g, "") : "";
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? text : null;
}

function pngBlob(base64: string): Blob {
  return new Blob([Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0))], {
    type: "image/png",
  });
}

function fallbackOf(profile: Profile, picture: string | null): string {
  const text = plainText(profile.data);
  const alt = escapeHtml(profile.title);
  const image =
    picture === null ? "" : `<img src="data:image/png;base64,${picture}" alt="${alt}">\n`;
  return `${image}<pre>${escapeHtml(text)}</pre>`;
}
