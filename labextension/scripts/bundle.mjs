/** One file out of many: esbuild joins and drops, terser makes JavaScript a further 6 % smaller. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { minify } from "terser";

export const HERE = fileURLToPath(new URL("../", import.meta.url));

/** In one file nothing is loaded later, and what would wait for it is dropped: a kilobyte. */
const together = {
  name: "together",
  setup: ({ onLoad }) =>
    onLoad({ filter: /src.(lanes.view|frame.glossary)\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const [call, from] = /import\(("[^"]+")\)/.exec(text);
      const [name, all] = from.includes(".json")
        ? ["later", "{ default: later }"]
        : ["* as later", "later"];
      const contents = `import ${name} from ${from};\n${text.replace(call, `Promise.resolve(${all})`)}`;
      return { contents, loader: "ts" };
    }),
};

export async function bundled(options) {
  const plugins = [together];
  const shared = {
    absWorkingDir: HERE,
    bundle: true,
    legalComments: "none",
    minify: true,
    plugins,
  };
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

/** The kinds of documents, each with the set of views in src/frame/registry.ts. */
export const KINDS = ["trace", "sweep", "anatomy"];

/** A script that has the views of one kind, for anywidget (`widget`) or for a page (`page`). */
export function scriptOf(kind, host) {
  const views = `import { ${kind.toUpperCase()} as VIEWS } from "./src/frame/registry";`;
  const start =
    host === "widget"
      ? 'import { widgetWith } from "./src/hosts/anywidget";\nexport default widgetWith(VIEWS);'
      : 'import { start } from "./src/hosts/page";\nstart(VIEWS);';
  const stdin = { contents: `${views}\n${start}`, resolveDir: HERE, loader: "ts" };
  return bundled({ stdin, format: host === "widget" ? "esm" : "iife" });
}

export function styleOf(kind) {
  return bundled({ entryPoints: [`style/${kind}.css`] });
}
