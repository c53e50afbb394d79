/**
 * How fast the picture is: `node benchmark/run.mjs` in labextension/, with chromium on the PATH.
 * Prints medians with quartiles and the best; bounds are meant for a machine that does nothing else.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { bundled, KINDS, scriptOf, styleOf } from "../scripts/bundle.mjs";

const BROWSER = process.env.CHROMIUM ?? "chromium";
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
const LONGEST_MS = 10 * 60_000;

const kilobytes = (text) => `${(gzipSync(text, { level: 9 }).length / 1024).toFixed(1)} KiB gzip`;

function at(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.round(share * (sorted.length - 1))];
}

function spread(values) {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => at(values, share).toFixed(1));
  return `${middle} ms [${low}, ${high}], best ${Math.min(...values).toFixed(1)}`;
}

function frames(values) {
  return `${(1000 / at(values, 0.5)).toFixed(0)} fps (${spread(values)}, 95 % ${at(values, 0.95).toFixed(1)} ms)`;
}

function report(result) {
  if (result.parts !== undefined) {
    console.log(`${result.parts.toLocaleString("en-US")} parts of a pickle`);
    console.log(`  first paint, blame      ${spread(result.anatomy)}   inflating included`);
    return;
  }
  if (result.bytes !== undefined) {
    console.log(`a plain document of ${(result.bytes / 1e6).toFixed(1)} MB, parsing included`);
    console.log(`  loaded, waterfall       ${spread(result.waterfall)}`);
    console.log(`  loaded, lanes           ${spread(result.lanes)}`);
    return;
  }
  console.log(`${result.spans.toLocaleString("en-US")} spans`);
  console.log(`  first paint, waterfall  ${spread(result.waterfall)}`);
  console.log(`  first paint, lanes      ${spread(result.lanes)}   inflating included`);
  console.log(`  zoom                    ${frames(result.zoom)}`);
  console.log(`  pan                     ${frames(result.pan)}`);
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) {
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

async function serve(script, style) {
  const page = `<!doctype html><meta charset="utf-8"><style>${style}</style><body><script type="module" src="/page.js"></script>`;
  let finish;
  const done = new Promise((resolve) => {
    finish = resolve;
  });
  const server = createServer(async (request, response) => {
    if (request.url === "/result") {
      report(JSON.parse(await bodyOf(request)));
    }
    if (request.url === "/done") {
      finish();
    }
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : page);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, done, address: `http://127.0.0.1:${server.address().port}/` };
}

const style = await bundled({ entryPoints: ["style/index.css"] });
for (const kind of KINDS) {
  const [script, own] = await Promise.all([scriptOf(kind, "widget"), styleOf(kind)]);
  console.log(`${kind}: ${kilobytes(script + own)} with its style   bound 40 KB`);
}
console.log(`load of the machine ${loadavg()[0].toFixed(1)} before the start`);

const { server, done, address } = await serve(
  await bundled({ entryPoints: ["benchmark/page.ts"], format: "esm" }),
  style,
);
const profile = await mkdtemp(join(tmpdir(), "serprof-benchmark-"));
const more = [`--user-data-dir=${profile}`, "--window-size=1200,900", address];
const browser = spawn(BROWSER, [...FLAGS, "--remote-debugging-port=0", ...more], {
  stdio: "ignore",
});
const failed = new Promise((_, reject) => {
  browser.on("error", () => reject(new Error(`${BROWSER} is missing: apt-get install chromium`)));
  setTimeout(() => reject(new Error("no result within 10 minutes")), LONGEST_MS).unref();
});
try {
  await Promise.race([done, failed]);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
} finally {
  const gone = new Promise((resolve) => browser.on("exit", resolve));
  browser.kill();
  await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 3_000).unref())]);
  server.closeAllConnections();
  server.close();
  await rm(profile, { recursive: true, force: true });
}
