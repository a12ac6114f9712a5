import { errorsByClass, hoverTexts } from '../../../../../test/support/type-check.js';
import { LOCK_OPTIONS } from '../../options/lock-options.js';

const PRELUDE = `
import { CurrentLease, currentLease, DistributeLock, type Duration, duration, Lease, LockModule, LockService } from './index.js';
import type { Observable } from 'rxjs';
declare const text: string;
declare const locks: LockService;
declare module './index.js' { interface LockPresets { checkout: true; report: true } }
class Settings { constructor(private readonly least: Duration, readonly tenant: string) {} }
`;

const OPTIONS = Object.keys(LOCK_OPTIONS);
const OWN_OPTIONS = [
  ...[
    'key',
    'keys',
    'preset',
    'options',
    'once',
    'connectionName',
    'onContended',
    'contendedStatus',
    'abortOnDisconnect',
    'result',
  ],
];

/** Bodies of classes that do not compile, and words of their messages. */
const REFUSED: readonly (readonly [body: string, ...words: string[]])[] = [
  [`@DistributeLock({ key: 'a', tll: '1s' }) async run() {}`, 'tll is not an option of @DistributeLock', 'ttl, wait,'],
  [`@DistributeLock({ key: 'a', tll: '1s' }) async run() {}`, ...OPTIONS, ...OWN_OPTIONS],
  [`@DistributeLock({ key: 'a', wait: 5, onContend: 'skip' }) async run() {}`, 'onContend is not an option'],
  [`@DistributeLock({ kye: 'a' }) async run() {}`, `'kye' does not exist in type`],
  [`@DistributeLock({ key: 'a' }) run(): number { return 1; }`, 'make the method async'],
  [`@DistributeLock({ key: 'a' }) run(): number | Promise<number> { return 1; }`, 'make the method async'],
  [`@DistributeLock({ key: 'a', result: 'observable' }) async run() {}`, 'option result names another form'],
  [`@DistributeLock({ key: 'a', result: 'iterable' }) run(): Observable<1> { return undefined!; }`, 'another form'],
  [`@DistributeLock({ key: 'a', result: 'promise' }) async run() {}`, `'"promise"' is not assignable`],
  [`@DistributeLock('x') async run() {}`, `'"x"' has no properties in common with type 'DistributeLockOptions`],
  [`@DistributeLock({ key: 'a', ttl: '10' }) async run() {}`, `'"10"' is not assignable to type`, 'duration(text)'],
  [`@DistributeLock({ key: 'a', ttl: text }) async run() {}`, `'string' is not assignable to type`, 'duration(text)'],
  [`@DistributeLock({ key: 'a', wait: '1 fortnight' }) async run() {}`, 'duration(text)'],
  [`run() { return locks.acquire('a', { ttl: text }); }`, 'duration(text)'],
  [`module = LockModule.forRoot({ connection: text, drainTimeout: '10' });`, 'duration(text)'],
  [
    `@DistributeLock({ key: 'a', onContended: 'skip' }) async run(): Promise<string> { return ''; }`,
    'a skipped call resolves with undefined',
  ],
  [
    `@DistributeLock({ key: 'a', onContended: 'skip' }) async run(): Promise<null> { return null; }`,
    'resolves with undefined',
  ],
  [
    `@DistributeLock({ key: 'a', preset: 'chekout' }) async run() {}`,
    `'"chekout"' is not assignable to type`,
    '"checkout"',
  ],
  [`run() { return locks.acquire('a', { preset: 'chekout' }); }`, `'"chekout"' is not assignable to type`],
  [`module = LockModule.forRoot({ connection: text, presets: { checkout: {} } });`, "Property 'report' is missing"],
  [`module = LockModule.forRoot({ connection: text, presets: { checkout: { tll: 1 }, report: {} } });`, "'tll'"],
  [
    `@DistributeLock({ key(this: Settings, id: string) { return this.tenant + id; } }) async run(_id: string) {}`,
    'a function of the options declares another this than the class of the method',
  ],
  [
    `@DistributeLock({ keys(this: Settings) { return [this.tenant]; } }) async run() {}`,
    'declares another this than the class',
  ],
  [
    `@DistributeLock({ key: 'a', onContended(this: Settings) { return this.tenant; } }) async run() {}`,
    'declares another this than the class',
  ],
  [
    `@DistributeLock({ key: 'a', options: (settings: Settings) => ({ ttl: 1 }) }) async run() {}`,
    'the options function takes another class than that of the method',
  ],
  [
    `@DistributeLock({ key: 'a', options: (self: { run(n: string): unknown }, n: number) => ({ ttl: n }) }) async run(_n: string) {}`,
    'the options function takes other arguments than the method',
  ],
  [`@DistributeLock({ key: 'a', options: () => ({ ttl: '10' }) }) async run() {}`, `'"10"' is not assignable`],
];

/** Bodies of classes that compile. */
const ACCEPTED: readonly string[] = [
  `@DistributeLock({ key: 'a', preset: 'checkout' }) async run() { await locks.acquire('a', { preset: 'report' }); }`,
  `module = LockModule.forRoot({ connection: text, presets: { checkout: { ttl: '30s' }, report: {} } });`,
  `@DistributeLock({ key(this: { run(n: string): unknown }, n: string) { return n; } }) async run(_n: string) {}`,
  `@DistributeLock({ key: 'a', options: (self: { run(): unknown }) => ({ ttl: 1 }) }) async run() {}`,
  `@DistributeLock({ key: 'a', options: (self: { run(n: number): unknown }, n: number) => ({ ttl: n }) }) async run(_n: number) {}`,
  ...['10s', '500ms', '1.5h', '2 m', '1d', '1w'].map(
    (value) => `@DistributeLock({ key: 'a', ttl: '${value}' }) async run() {}`,
  ),
  `@DistributeLock({ key: 'a', ttl: 30_000, wait: duration(text) }) async run() {}`,
  `readonly least: Duration = duration(text);`,
  `@DistributeLock({ key: 'a', onContended: 'skip' }) async run(): Promise<void> {}`,
  `@DistributeLock({ key: 'a', onContended: 'skip' }) async run(): Promise<string | undefined> { return ''; }`,
  `@DistributeLock({ key: 'a', onContended: 'skip' }) async run(): Promise<unknown> { return ''; }`,
  `@DistributeLock({ key: 'a', onContended: 'skip' }) async run(): Promise<any> { return ''; }`,
  `@DistributeLock({ key: 'a', onContended: 'skip' }) async *run(): AsyncGenerator<number> { yield 1; }`,
  `@DistributeLock({ key: 'a', onContended: 'skip' }) run(): Observable<number> { return undefined!; }`,
  `@DistributeLock({ key: 'a', result: 'observable' }) run(): Observable<number> { return undefined!; }`,
  `@DistributeLock({ key: 'a', result: 'iterable' }) async *run(): AsyncGenerator<number> { yield 1; }`,
  `@DistributeLock({ key: 'a', onContended: 'throw' }) async run(): Promise<string> { return ''; }`,
  `@DistributeLock({ key: 'a' }) async run(@CurrentLease() lease: Lease) { return lease.fencingToken; }`,
  `@DistributeLock({ key: 'a:#{arg0}' }) async run(_id: string, @CurrentLease() lease: Lease) { return lease.key; }`,
  `@DistributeLock({ key: 'a' }) async run(@CurrentLease() lease?: Lease) { return [lease?.key, currentLease().fencingToken]; }`,
];

const classes = (bodies: readonly string[]) =>
  PRELUDE + bodies.map((body, i) => `export class C${i} {\n${body}\n}`).join('\n');

describe('a compile error', () => {
  const messages = errorsByClass(classes(REFUSED.map(([body]) => body)));

  it.each(REFUSED.map(([body, ...words], index) => ({ body, words, index })))('of $body', ({ words, index }) => {
    for (const word of words) expect(messages.get(index)).toContain(word);
  });

  it('does not occur in code that works, also under isolatedModules with metadata of decorators', () => {
    const accepted = classes(ACCEPTED);
    expect(errorsByClass(accepted, { isolatedModules: true, emitDecoratorMetadata: true })).toEqual(new Map());
    expect(errorsByClass(accepted, { strict: false })).toEqual(new Map());
  });
});

describe('the documentation in an editor', () => {
  const names = [...OPTIONS, ...OWN_OPTIONS];
  const source = (call: string) => `${PRELUDE} class C0 { ${call} }`;
  const values: Readonly<Record<string, string>> = {
    ...{ renew: 'true', reentrant: 'true', fair: `'strict'`, kind: `'semaphore'`, permits: '2', weight: '1' },
    ...{ release: `'end'`, onLost: `'throw'`, key: `'a:#{arg0}'`, keys: `['a']`, connectionName: `'x'` },
    ...{
      preset: `'report'`,
      options: '() => ({})',
      once: `'tick'`,
      onContended: `'skip'`,
      contendedStatus: '429',
      abortOnDisconnect: 'true',
      result: `'iterable'`,
    },
  };
  const given = (name: string) => `${name}: ${values[name] ?? `'10s'`}`;

  it('shows the text of each option of the decorator', () => {
    const methods = names.map((name, i) => {
      const key = name === 'key' || name === 'keys' ? '' : `key: 'a', `;
      return `@DistributeLock({ ${key}/*${i}*/${given(name)} }) async run${i}(_id: string) {}`;
    });
    const shown = hoverTexts(
      source(methods.join('\n')),
      names.map((_, i) => `/*${i}*/`),
    );
    expect(names.filter((_, i) => shown[i].length < 40)).toEqual([]);
    expect(shown[0]).toContain('How long a *crashed* holder blocks other callers');
  });

  it('shows the text of options of LockService and LockModule', () => {
    const text = source(
      `run() { LockModule.forRoot({ connection: 'x' }); return locks.acquire('a', { ttl: '10s' }); }`,
    );
    const [connection, ttl] = hoverTexts(text, ['forRoot({ ', `acquire('a', { `]);
    expect(connection).toContain('The location of the locks.');
    expect(ttl).toContain('How long a *crashed* holder blocks other callers');
  });
});
