import type { AcquireAnswer, AcquireRequest } from '../store/lock-store.js';
import type { EngineContext } from './context.js';
import { FencingBlock, type Grant } from './lease/grant.js';
import { PermitBlocks } from './permit-blocks.js';

describe('PermitBlocks', () => {
  const start = () => {
    const requests: AcquireRequest[] = [];
    const answers: { resolve: (answer: AcquireAnswer) => void; reject: (error: Error) => void }[] = [];
    const acquire = (request: AcquireRequest): Promise<AcquireAnswer> => {
      requests.push(request);
      return new Promise((resolve, reject) => answers.push({ resolve, reject }));
    };
    const held = new Map<string, Grant>();
    const reports: string[] = [];
    const blocks = new PermitBlocks(
      { store: { acquire }, clock: { now: () => 5.5 } } as unknown as EngineContext,
      held,
      () => reports.push('contended'),
    );
    const grant = (ownerToken: string, first: number, block: number): Grant => {
      const made = {
        ...{ key: 'k', ownerToken, ended: false, startedAt: first },
        block: new FencingBlock(first, block),
      } as Grant;
      held.set(ownerToken, made);
      blocks.add(made);
      return made;
    };
    return { blocks, grant, requests, answers, reports };
  };
  const settled = () => new Promise(setImmediate);

  it('gives all grants tokens of the newest block', () => {
    const { grant } = start();
    const [first, second] = [grant('a', 10, 5), grant('b', 20, 5)];
    expect([second.block.take(), first.block.take(), second.block.take()]).toEqual([20, 21, 22]);
  });

  it('knows when the command for the newest block was sent', async () => {
    const { blocks, grant, answers } = start();
    const [only] = [grant('a', 2, 1), grant('b', 1, 5)];
    expect(blocks.issuedFor).toBe(2);
    blocks.refill(only, 0);
    answers[0].resolve({ outcome: 'granted', fencingToken: 100, waiting: 0 });
    await settled();
    expect(blocks.issuedFor).toBe(5.5);
  });

  it('continues a late grant with a newer block', () => {
    const { grant } = start();
    grant('a', 20, 2);
    expect(grant('b', 10, 5).block.take()).toBe(20);
  });

  it('requests more before they are spent, with one command', async () => {
    const { blocks, grant, requests, answers } = start();
    const only = grant('a', 10, 3);
    only.block.take();
    blocks.refill(only, 0);
    expect(requests).toEqual([]);
    only.block.take();
    blocks.refill(only, 0);
    blocks.refill(only, 0);
    const request = { key: 'k', ownerToken: 'a', kind: 'semaphore', ttlMs: 1, wait: false, block: 64 };
    expect(requests).toEqual([request]);
    expect(only.block.take()).toBe(12);
    answers[0].resolve({ outcome: 'granted', fencingToken: 100, waiting: 0 });
    await settled();
    expect([only.block.take(), only.block.left]).toEqual([100, 63]);
  });

  it('requests a block for a caller that came after the present one was requested', () => {
    const { blocks, grant, requests } = start();
    const only = grant('a', 10, 60);
    blocks.refill(only, 10);
    expect(requests).toEqual([]);
    blocks.refill(only, 11);
    expect(requests).toHaveLength(1);
  });

  it('ignores an answer that is older than the last grant', async () => {
    const { blocks, grant, answers } = start();
    blocks.refill(grant('a', 10, 1), 0);
    const newest = grant('b', 500, 5);
    answers[0].resolve({ outcome: 'granted', fencingToken: 100, waiting: 0 });
    await settled();
    expect(newest.block.take()).toBe(500);
  });

  it('reports that another process waits', async () => {
    const { blocks, grant, answers, reports } = start();
    blocks.refill(grant('a', 10, 1), 0);
    answers[0].resolve({ outcome: 'granted', fencingToken: 100, waiting: 1 });
    await settled();
    expect(reports).toEqual(['contended']);
  });

  it.each<[string, AcquireAnswer | Error]>([
    ['a failure', new Error('away')],
    ['the loss of the lease', { outcome: 'busy', remainingMs: 5, foreign: false }],
  ])('requests again after %s', async (_, answer) => {
    const { blocks, grant, requests, answers } = start();
    const only = grant('a', 10, 1);
    blocks.refill(only, 0);
    if (answer instanceof Error) answers[0].reject(answer);
    else answers[0].resolve(answer);
    await settled();
    blocks.refill(only, 0);
    expect(requests).toHaveLength(2);
  });

  it('requests nothing for a grant that has ended', () => {
    const { blocks, grant, requests } = start();
    const over = grant('a', 10, 1);
    over.ended = true;
    blocks.refill(over, 0);
    expect(requests).toEqual([]);
  });
});
