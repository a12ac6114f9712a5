import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { Child } from '../support/child.js';

describe('A script with `connection: "memory"`', () => {
  it('gets the answer to each call, and ends when no caller waits', async () => {
    const loader = new URL('../../tools/typescript-loader.mjs', import.meta.url).href;
    const script = fileURLToPath(new URL('memory-script.child.ts', import.meta.url));
    const child = new Child(
      spawn(process.execPath, ['--import', loader, script], { stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.output).toContain('LOCK_WAIT_TIMEOUT');
  });
});
