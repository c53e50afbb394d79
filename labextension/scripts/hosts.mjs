/**
 * Bundle what is no JupyterLab extension: static/widget.js and .css for anywidget, and
 * static/page.html, the template of a self-contained page with script, style and policy inside.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";

import { bundled, HERE } from "./bundle.mjs";

const STATIC = `${HERE}../jupyter_serprof/static/`;

/** The policy names the one script by its hash and allows no request at all. */
function policyFor(script) {
  const hash = createHash("sha256").update(script).digest("base64");
  return [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

async function page(style) {
  const script = await bundled({ entryPoints: ["src/hosts/page.ts"], format: "iife" });
  if (/<\/script|<!--/i.test(script)) {
    throw new Error("the bundled script would end its own element: escape </script in the source");
  }
  const around = await bundled({ entryPoints: ["src/hosts/page.css"] });
  const parts = { script, style: `${around}\n${style}`, policy: policyFor(script) };
  const template = await readFile(`${HERE}src/hosts/page.html`, "utf8");
  return template.replace(/@@(script|style|policy)@@/g, (_, name) => parts[name]);
}

const style = await bundled({ entryPoints: ["style/index.css"] });
const widget = await bundled({ entryPoints: ["src/hosts/anywidget.ts"], format: "esm" });
const template = await page(style);

await mkdir(STATIC, { recursive: true });
await mkdir(`${HERE}lib/hosts`, { recursive: true });
await Promise.all([
  writeFile(`${STATIC}widget.js`, widget),
  writeFile(`${STATIC}widget.css`, style),
  writeFile(`${STATIC}page.html`, template),
  // The builder of the labextension takes .txt as text: the export command needs no server.
  writeFile(`${HERE}lib/hosts/page.txt`, template),
]);
