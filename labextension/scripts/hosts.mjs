/**
 * Bundle what is no JupyterLab extension, for each kind of document: static/trace.js and .css for
 * anywidget, and static/trace.html, the template of a self-contained page with script, style and
 * policy inside. A bundle has the views of its kind only, so that each stays small.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";

import { bundled, HERE, KINDS, scriptOf, styleOf } from "./bundle.mjs";

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

async function page(kind, style) {
  const script = await scriptOf(kind, "page");
  if (/<\/script|<!--/i.test(script)) {
    throw new Error("the bundled script would end its own element: escape </script in the source");
  }
  const around = await bundled({ entryPoints: ["src/hosts/page.css"] });
  const parts = { script, style: `${around}\n${style}`, policy: policyFor(script) };
  const template = await readFile(`${HERE}src/hosts/page.html`, "utf8");
  return template.replace(/@@(script|style|policy)@@/g, (_, name) => parts[name]);
}

async function write(kind) {
  const style = await styleOf(kind);
  const template = await page(kind, style);
  await Promise.all([
    writeFile(`${STATIC}${kind}.js`, await scriptOf(kind, "widget")),
    writeFile(`${STATIC}${kind}.css`, style),
    writeFile(`${STATIC}${kind}.html`, template),
    // The builder of the labextension takes .txt as text: the export command needs no server.
    writeFile(`${HERE}lib/hosts/page-${kind}.txt`, template),
  ]);
}

await mkdir(STATIC, { recursive: true });
await mkdir(`${HERE}lib/hosts`, { recursive: true });
await Promise.all(KINDS.map(write));
