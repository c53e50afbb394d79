/** Hand text and files to the reader, through the host or the browser. */

import type { Host } from "../document/host";

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
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jsp-button";
  button.textContent = title;
  button.addEventListener("click", () => {
    copyText(host, textOf()).then(
      () => button.replaceChildren("Copied"),
      () => button.replaceChildren("Cannot copy here"),
    );
  });
  return button;
}
