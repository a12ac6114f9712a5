type Cleanup = () => unknown;

const RUN = Symbol.for('test-support.cleanup');
const pending = new Set<Cleanup>();

// jest-environment.mjs calls it after all tests and hooks of the spec file
(globalThis as { [RUN]?: () => Promise<void> })[RUN] = runCleanups;

/** Runs `cleanup` after the spec file, in reverse order of registration. Returns a function that cancels it. */
export function onCleanup(cleanup: Cleanup): () => void {
  pending.add(cleanup);
  return () => void pending.delete(cleanup);
}

/** Runs all cleanups, also after a failed one, and throws the first error at the end. */
export async function runCleanups(): Promise<void> {
  const errors: unknown[] = [];
  for (const cleanup of [...pending].reverse()) {
    pending.delete(cleanup);
    try {
      await cleanup();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
