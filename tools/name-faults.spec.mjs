import { dialectFaults, nameFaults, wordFault } from './name-faults.mjs';

const faultsOf = (...texts) => nameFaults(texts.map((text, i) => [`${'abc'[i]}.ts`, text]));

describe('nameFaults', () => {
  it('rejects two files that export the same name', () => {
    const faults = faultsOf('export interface Answer {}', 'export type Answer = number;');
    expect(faults).toEqual(['b.ts: exports "Answer", as does a.ts']);
  });

  it('rejects a local type with the name of an export', () => {
    const faults = faultsOf('class Answer {}', 'export type Answer = number;');
    expect(faults).toEqual(['a.ts:1: has another "Answer" than b.ts']);
  });

  it('accepts overloads, and a constant that is local to one of the files', () => {
    const overloads = 'export function read(a: string): string;\nexport function read(a: number): number;\n';
    expect(faultsOf(overloads, 'const read = 1;')).toEqual([]);
  });

  it('accepts a re-export under the same name, and rejects one under another name', () => {
    expect(faultsOf('export const one = 1;', "export { one } from './a.js';")).toEqual([]);
    expect(faultsOf('export const one = 1;', "export { one as two } from './a.js';")).toEqual([
      'b.ts:1: exports "one" as "two": use one name',
    ]);
  });

  it('rejects a type that is only another name of a type', () => {
    const text = 'interface One {}\nexport type Two = One;\nexport type Three = One[];\nexport type Four = string;';
    expect(faultsOf(text)).toEqual(['a.ts:2: "Two" is a second name of "One"']);
  });

  it.each([
    ['a variable', 'const askedAt = 1;'],
    ['a constant', 'const ASKED_MS = 1;'],
    ['a class', 'class SeveralKeys {}'],
    ['a member', 'interface One { readonly toldOfLoss: true }'],
    ['a parameter', 'function one(mailbox: string): void {}'],
    ['a field of an object', 'const one = { heir: 1 };'],
    ['a word that had several meanings', 'const fencingNumbers = [1];'],
  ])('rejects a replaced word in %s', (_, text) => {
    expect(faultsOf(text)).toEqual([expect.stringMatching(/^a\.ts:1: "\w+" contains /)]);
  });

  it('accepts uses of names of others, and words within words', () => {
    expect(faultsOf('const client = { stringNumbers: false };')).toEqual([]);
    expect(faultsOf("import type { Asked } from 'other';\nconst masked: Asked['told'] = other.told;\n")).toEqual([]);
  });
});

describe('dialectFaults', () => {
  it('rejects a name with a word that no name has, and accepts others', () => {
    expect(dialectFaults('a.ts', 'const helpers = 1;\nfunction one(askedAt: number): void {}\n')).toEqual([
      'a.ts:2: "askedAt" contains "asked": name attempt or request',
    ]);
  });
});

describe('wordFault', () => {
  it.each(['several-keys', 'told-of-loss.spec', 'lock-utils'])('rejects the file %s', (file) => {
    expect(wordFault(file)).toContain(`"${file}" contains`);
  });

  it.each(['multi-key', 'notified-of-loss.spec', 'masked'])('accepts %s', (name) => {
    expect(wordFault(name)).toBeUndefined();
  });
});
