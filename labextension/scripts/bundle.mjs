/** One file out of many: esbuild joins and drops, terser makes JavaScript a further 6 % smaller. */
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { minify } from "terser";

export const HERE = fileURLToPath(new URL("../", import.meta.url));

export async function bundled(options) {
  const shared = { absWorkingDir: HERE, bundle: true, legalComments: "none", minify: true };
  const result = await build({ ...shared, target: "es2022", write: false, ...options });
  const text = result.outputFiles[0].text.trim();
  return options.format === undefined ? text : smaller(text, options.format === "esm");
}

async function smaller(script, isModule) {
  const shared = { ecma: 2022, format: { comments: false } };
  const { code } = await minify(script, {
    ...shared,
    compress: { passes: 3, pure_getters: true, keep_fargs: false },
    module: isModule,
  });
  return code;
}
