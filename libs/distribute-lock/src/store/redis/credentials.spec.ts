import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';

import { type CredentialsSource, follow } from './credentials.js';

/** A client that connects at once, and remembers with which password. */
class FakeClient extends EventEmitter {
  status = 'wait';
  readonly options: { username?: string; password?: string } = { username: 'first', password: 'first' };
  readonly passwords: unknown[] = [];
  readonly errors: string[] = [];

  constructor() {
    super();
    this.on('error', (error: Error) => this.errors.push(error.message));
  }

  async connect(): Promise<void> {
    this.passwords.push(this.options.password);
  }

  duplicate(): FakeClient {
    return new FakeClient();
  }
}

function following(source: CredentialsSource): FakeClient {
  const client = new FakeClient();
  follow(client as unknown as Redis, source);
  return client;
}

describe('follow', () => {
  it('reads the credentials before each connection, also of a copy', async () => {
    let count = 0;
    const client = following(() => ({ username: 'locks', password: `p${(count += 1)}` }));
    await client.connect();
    await client.connect();
    const copy = client.duplicate();
    await copy.connect();
    expect([client.passwords, copy.passwords]).toEqual([['p1', 'p2'], ['p3']]);
    expect(client.options.username).toBe('locks');
  });

  it('connects synchronously when the credentials are known', () => {
    const client = following(() => ({ password: 'known' }));
    void client.connect();
    expect(client.passwords).toEqual(['known']);
  });

  it('keeps the credentials of the client when there are no others', async () => {
    const client = following(() => ({ username: undefined, password: '' }));
    await client.connect();
    expect(client.passwords).toEqual(['first']);
  });

  it('waits for a promise, and connects once although it is called again', async () => {
    const client = following(async () => ({ password: 'later' }));
    await Promise.all([client.connect(), client.connect()]);
    expect(client.passwords).toEqual(['later']);
  });

  it('calls a function that fails again, and its error contains no secret', async () => {
    let calls = 0;
    const client = following(() => {
      calls += 1;
      if (calls === 1) throw new TypeError('the token is secret');
      if (calls === 2) return Promise.reject('secret');
      return { password: 'third' };
    });
    await client.connect();
    expect(client.passwords).toEqual(['third']);
    expect(client.errors).toEqual([
      'Option "credentials" failed with TypeError.',
      'Option "credentials" failed with string.',
    ]);
  });

  it('does not connect a client that was closed before the credentials arrived', async () => {
    let give: (credentials: { password: string }) => void = () => undefined;
    const client = following(() => new Promise((resolve) => (give = resolve)));
    const connecting = client.connect();
    client.status = 'end';
    give({ password: 'late' });
    await expect(connecting).rejects.toThrow('The connection is closed');
    expect(client.passwords).toEqual([]);
  });
});
