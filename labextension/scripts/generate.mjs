/**
 * Generate src/document/schema.ts from the JSON Schemas of the Python package, and style/theme.css
 * from its colours. With --check nothing is written: exit code 1 when a file is stale.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { compile } from "json-schema-to-typescript";

const HERE = fileURLToPath(new URL("../", import.meta.url));
const PACKAGE = `${HERE}../jupyter_serprof/`;
const MODEL = `${PACKAGE}model/`;
const BANNER = `/**
 * Generated from jupyter_serprof/model/sweep.v1.json and trace.v1.json. Do not edit:
 * change the schema, then run \`npm run generate\`.
 */`;

async function schema() {
  // The sweep refers to the trace, so one root yields every type.
  const root = JSON.parse(await readFile(`${MODEL}sweep.v1.json`, "utf8"));
  const written = await compile(root, "SweepDocument", {
    additionalProperties: false,
    bannerComment: BANNER,
    cwd: MODEL,
    style: { printWidth: 100 },
  });
  // A comment of one line stands on one.
  return written.replaceAll(/\/\*\*\n *\* (.*)\n *\*\/\n/g, "/** $1 */\n");
}

/** The names that a style sheet uses for the colours that are also those of the pictures. */
const ROLES = { background: "bg", ink: "ink", muted: "ink-2", warn: "warn" };

async function style() {
  const theme = JSON.parse(await readFile(`${PACKAGE}views/kit/theme.json`, "utf8"));
  const families = Object.entries(theme.families);
  const variables = [
    ...families.flatMap(([name, own]) => [
      [name, own.color],
      [`on-${name}`, own.label],
    ]),
    ...Object.entries(theme.ways).map(([key, color]) => [`way-${key}`, color]),
    ...["light", "dark"].flatMap((mode) =>
      [
        ...Object.entries(ROLES).map(([role, name]) => [name, theme[mode][role]]),
        ...Object.entries(theme.screen[mode]),
      ].map(([name, color]) => [`${name}-${mode}`, color]),
    ),
  ];
  const root = variables.map(([name, color]) => `  --jsp-${name}: ${color};`);
  const marks = families.map(
    ([name]) =>
      `.jsp-${name} {\n  --jsp-own: var(--jsp-${name});\n  --jsp-on: var(--jsp-on-${name});\n  background: var(--jsp-own);\n}`,
  );
  const banner = "/* Generated from jupyter_serprof/views/kit/theme.json. Do not edit. */";
  return `${[banner, `.jsp-root {\n${root.join("\n")}\n}`, ...marks].join("\n\n")}\n`;
}

const made = { "src/document/schema.ts": schema, "style/theme.css": style };
for (const [name, make] of Object.entries(made)) {
  const fresh = await make();
  if (!process.argv.includes("--check")) {
    await writeFile(`${HERE}${name}`, fresh);
  } else if (fresh !== (await readFile(`${HERE}${name}`, "utf8").catch(() => ""))) {
    console.error(`${name} is stale: what it is made from changed. Run: npm run generate`);
    process.exitCode = 1;
  }
}
