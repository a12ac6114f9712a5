import { packLibrary, type PackedLibrary } from './packed-library.js';

describe('the packed library', () => {
  let packed: PackedLibrary;

  beforeAll(async () => {
    packed = await packLibrary();
  }, 60_000);

  it('runs in a small ESM application with only its dependencies and peers', async () => {
    const printed = await packed.runApplication('main.ts');

    expect(printed).toEqual({ answers: ['settled 42', 'LOCK_CONTENDED', 'settled 43'], token: true });
  });

  it('acts as one library when an application loads it twice, imported and required', async () => {
    const printed = await packed.runApplication('two-copies.mjs');

    const works = {
      holds: 'order',
      sameByOther: true,
      nested: 'LOCK_USAGE',
      second: [409, true, 'LOCK_CONTENDED'],
      direct: [true, true],
      named: 'report',
      heard: ['acquired', 'contended', 'refused', 'released'],
    };
    expect(printed).toEqual({
      different: true,
      required: works,
      imported: works,
      twice: expect.stringContaining('LockModule.forRoot() is imported 2 times') as unknown,
    });
  });

  it('finds the package of a transport where a library can only load what its manifest names', async () => {
    await packed.install('@nestjs/microservices');

    expect(await packed.runApplication('rpc.mjs')).toMatchObject({ free: 'settled', busy: { code: 'LOCK_CONTENDED' } });
  });

  it('advances the time of its testing kit under fake timers that replace functions of Node', async () => {
    expect(await packed.runApplication('fake-timers.cjs')).toEqual({ told: 'LOCK_WAIT_TIMEOUT' });
  });

  it('closes an application that holds a lock when nothing else keeps the process running', async () => {
    expect(await packed.runApplication('lone-shutdown.mjs')).toEqual({ lost: 'LOCK_SHUTDOWN' });
  });
});
