/** The page that needs no server, made of an output: JupyterLab and Notebook 7, without a kernel. */

import { textOf } from "../document/document";
import { plainText } from "../hosts/plain";
import type { Carried } from "../hosts/preferences";
import { escapeHtml, fillPage } from "../hosts/template";

export async function offlinePage(title: string, document: unknown, data: Carried): Promise<Blob> {
  const template = await templateFor(document);
  const fallback = fallbackOf(title, data);
  const page = fillPage(template, { title, view: "", document, fallback });
  return new Blob([page], { type: "text/html" });
}

/** Loaded when it is needed: the page holds the renderer a second time. */
async function templateFor(doc: unknown): Promise<string> {
  const { format, anatomies } = Object(doc) as Record<string, unknown>;
  const template =
    format === "serprof.sweep"
      ? await import("../hosts/page-sweep.txt")
      : Array.isArray(anatomies) && anatomies.length > 0
        ? await import("../hosts/page-anatomy.txt")
        : await import("../hosts/page-trace.txt");
  return template.default;
}

/** Base64 of the picture of an output; null where there is none. */
export function pictureOf(data: Carried): string | null {
  const text = textOf(data["image/png"]).replace(/\s/g, "");
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? text : null;
}

function fallbackOf(title: string, data: Carried): string {
  const png = pictureOf(data);
  const alt = escapeHtml(title);
  const image = png === null ? "" : `<img src="data:image/png;base64,${png}" alt="${alt}">\n`;
  return `${image}<pre>${escapeHtml(plainText(data))}</pre>`;
}
