import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.ts"],
    // ms; for the slowest machine: a test that hangs is red, one that is held up is not.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
