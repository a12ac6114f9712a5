import { createHook } from 'node:async_hooks';

describe('outside', () => {
  it('is no open handle: its resource says that it keeps no process alive', async () => {
    const resources: { hasRef?(): boolean }[] = [];
    const hook = createHook({
      init: (_id, type, _trigger, resource) => {
        if (type === 'nestjs-distribute-lock') resources.push(resource);
      },
    });
    hook.enable();
    const { outside } = await import('./outside.js');
    hook.disable();

    expect(outside(() => 'ran')).toBe('ran');
    expect(resources.map((resource) => resource.hasRef?.())).toEqual([false]);
  });
});
