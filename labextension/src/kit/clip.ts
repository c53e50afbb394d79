/** Hand text and files to the reader, through the host or the browser. */

import type { Host } from "../document/host";
import { button, SVG } from "./dom";

export function copyText(host: Host, text: string): Promise<void> {
  try {
    return Promise.resolve(host.copy ? host.copy(text) : navigator.clipboard.writeText(text));
  } catch (error) {
    // Without a secure context there is no clipboard at all.
    return Promise.reject(error);
  }
}

/** Long enough for a browser to have begun the download. */
const KEPT_MS = 10_000;

export function saveFile(host: Host, name: string, blob: Blob): void {
  if (host.save) {
    host.save(name, blob);
    return;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}

/** A name that every file system takes. */
export function fileName(name: string, ending: string): string {
  const words = name.replaceAll(/[^\p{L}\p{N}]+/gu, "-").replaceAll(/^-+|-+$/g, "");
  return `${words.slice(0, 40) || "profile"}${ending}`;
}

/** A button that copies and says whether it could. */
export function copyButton(host: Host, title: string, textOf: () => string): HTMLButtonElement {
  const copy = (): void => {
    copyText(host, textOf()).then(
      () => node.replaceChildren("Copied"),
      () => node.replaceChildren("Cannot copy here"),
    );
  };
  const node = button("jsp-button", copy, title);
  return node;
}

/** The view as a PNG: its elements and styles drawn through an SVG, so that no request is made. */

/** Control characters and lone halves of characters, which no XML may hold. */
const NO_XML = /(?![\t\n\r])[\p{Cc}\p{Cs}]/gu;

export async function pictureOf(root: HTMLElement): Promise<Blob> {
  const [width, height] = [root.offsetWidth, root.offsetHeight];
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svgOf(root, width, height))}`;
  await image.decode();
  const ratio = Math.max(2, globalThis.devicePixelRatio || 1);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.scale(ratio, ratio);
  context.fillStyle = getComputedStyle(root).backgroundColor;
  context.fillRect(0, 0, width, height);
  context.drawImage(image, 0, 0, width, height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error("no picture")) : resolve(blob)));
  });
}

export function svgOf(root: HTMLElement, width: number, height: number): string {
  const copy = root.cloneNode(true) as HTMLElement;
  const canvases = root.querySelectorAll("canvas");
  copy.querySelectorAll("canvas").forEach((canvas, at) => {
    const image = document.createElement("img");
    image.src = canvases[at]?.toDataURL() ?? "";
    image.className = canvas.className;
    image.style.cssText = canvas.style.cssText;
    canvas.replaceWith(image);
  });
  // What only works on a page.
  for (const node of copy.querySelectorAll(".jsp-switch-end, .jsp-help, .jsp-tip, .jsp-tools")) {
    node.remove();
  }
  const style = styleOf(root);
  const now = getComputedStyle(root);
  for (const [name] of style.matchAll(/--jsp-[\w-]+/g)) {
    // The picture has no page around it that could say which theme it has.
    copy.style.setProperty(name, now.getPropertyValue(name) || null);
  }
  copy.style.width = `${width}px`;
  const sheet = document.createElement("style");
  sheet.textContent = style;
  copy.prepend(sheet);
  const inner = new XMLSerializer().serializeToString(copy).replace(NO_XML, "");
  return `<svg xmlns="${SVG}" width="${width}" height="${height}"><foreignObject width="100%" height="100%">${inner}</foreignObject></svg>`;
}

/** Our own sheets, wherever the host has put them. */
function styleOf(root: HTMLElement): string {
  const { styleSheets } = root.getRootNode() as Document | ShadowRoot;
  return [...styleSheets]
    .map((sheet) => sheet.ownerNode?.textContent || rulesOf(sheet))
    .filter((text) => text.includes(".jsp-"))
    .join("\n");
}

function rulesOf(sheet: CSSStyleSheet): string {
  try {
    return [...sheet.cssRules].map((rule) => rule.cssText).join("\n");
  } catch {
    // A sheet of another origin cannot be read; ours never is.
    return "";
  }
}
