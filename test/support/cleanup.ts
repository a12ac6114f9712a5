type Cleanup = () => unknown;

const RUN = Symbol.for('test-support.cleanup');
const pending = new Set<Cleanup>();

// jest-environment.mjs calls it once all tests and hooks of the spec file have ended
(globalThis as { [RUN]?: () => Promise<void> })[RUN] = runCleanups;

/** Runs `cleanup` when the spec file has ended, the last one first; the function that is returned takes it back. */
export function onCleanup(cleanup: Cleanup): () => void {
  pending.add(cleanup);
  return () => void pending.delete(cleanup);
}

/** Every one runs, also when one before it fails; the first error is thrown at the end. */
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
