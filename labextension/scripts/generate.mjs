/**
 * Generate src/document/schema.ts from the JSON Schemas of the Python package.
 * With --check nothing is written: exit code 1 when the file is stale.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { compile } from "json-schema-to-typescript";

const MODEL = fileURLToPath(new URL("../../jupyter_serprof/model/", import.meta.url));
const TARGET = fileURLToPath(new URL("../src/document/schema.ts", import.meta.url));
const BANNER = `/**
 * Generated from jupyter_serprof/model/sweep.v1.json and trace.v1.json. Do not edit:
 * change the schema, then run \`npm run generate\`.
 */`;

async function generate() {
  // The sweep refers to the trace, so one root yields every type.
  const schema = JSON.parse(await readFile(`${MODEL}sweep.v1.json`, "utf8"));
  return compile(schema, "SweepDocument", {
    additionalProperties: false,
    bannerComment: BANNER,
    cwd: MODEL,
    style: { printWidth: 100 },
  });
}

const fresh = await generate();
if (process.argv.includes("--check")) {
  const current = await readFile(TARGET, "utf8").catch(() => "");
  if (current !== fresh) {
    console.error(
      "src/document/schema.ts is stale: the JSON Schema changed. Run: npm run generate",
    );
    process.exitCode = 1;
  }
} else {
  await writeFile(TARGET, fresh);
}
