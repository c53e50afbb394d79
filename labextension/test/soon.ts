/** Waiting for what a picture does on its own, on the slowest machine. */

import { vi } from "vitest";

const PATIENCE_MS = 60_000;

/** Try until it does not throw; give what it gives. */
export function soon<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: PATIENCE_MS });
}
