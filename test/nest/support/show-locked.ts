import { eventually } from '../../support/eventually.js';
import type { RedisCorner } from '../../support/use-redis.js';
import { stage } from './stage.js';

/** The payload of the second caller on every transport. */
export const REFUSED = {
  code: 'LOCK_CONTENDED',
  message: 'Another request is in progress; try again later.',
  retryAfterMs: expect.any(Number) as number,
};

/** One kind of method, as its transport calls it. */
export interface LockedKind {
  readonly key: string;
  /** Resolves when the caller has its response. */
  readonly call: () => Promise<unknown>;
  /** Calls once more while the lock is held, and asserts the refusal. */
  readonly refused: () => Promise<void>;
  readonly answer?: unknown;
}

/** Whether Redis contains the lock. */
export async function isLocked(redis: RedisCorner, key: string): Promise<boolean> {
  return (await redis.client.exists(redis.prefix + key)) === 1;
}

export async function expectFree(redis: RedisCorner, key: string): Promise<void> {
  await eventually(async () => expect(await isLocked(redis, key)).toBe(false));
}

/**
 * Asserts that the lock is in Redis while the method runs, and that a second caller is refused. The method has its
 * lease. The lock is released after a result and after an error.
 */
export async function showLocked(redis: RedisCorner, { key, call, refused, answer }: LockedKind): Promise<void> {
  stage.reset();
  stage.close();
  const first = call();
  first.catch(() => undefined); // asserted below
  await stage.entered(1);
  expect(stage.visits).toEqual([{ key, current: true }]);
  expect(await isLocked(redis, key)).toBe(true);

  await refused();
  expect(stage.visits).toHaveLength(1);
  expect(await isLocked(redis, key)).toBe(true);

  stage.open();
  const answered = await first;
  if (answer !== undefined) expect(answered).toEqual(answer);
  await expectFree(redis, key);

  stage.failing = true;
  await call().catch(() => undefined);
  await stage.entered(2);
  await expectFree(redis, key);
  stage.reset();
}
