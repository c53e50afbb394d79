/** What tests read of the sources; the sources themselves know nothing of Node. */
interface ImportMeta {
  glob(
    pattern: string | string[],
    options: { query: "?raw"; import: "default"; eager: true },
  ): Record<string, string>;
}

declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
}
