import { commonJs } from './package/common-js.mjs';

describe('A part as CommonJS', () => {
  it.each([
    [`import { a, b as c } from './part-1.js';`, `const { a, b: c } = require('./part-1.js');`],
    [`import ms from 'ms';`, `const ms = require('ms');`],
    [`import * as all from 'node:util';`, `const all = process.getBuiltinModule('node:util');`],
    [`import 'reflect-metadata';`, `require('reflect-metadata');`],
    [`export { a, b as c };`, `module.exports = { a, c: b };`],
    [`await import('name');`, `await require('name');`],
  ])('has %s as %s', (line, expected) => {
    const body = `const a = 'import { x }', b = function () { return new.target; };\n`;
    expect(commonJs(`${body}${line}\n`)).toBe(`'use strict';\n\n${body}${expected}\n`);
  });

  it.each([
    `export const a = 1;`,
    `export default 1;`,
    `export * from './a.js';`,
    `export { a } from './a.js';`,
    `const { url } = import.meta;`,
    `import a, { b } from 'a';`,
  ])('is refused with %s', (line) => {
    expect(() => commonJs(`${line}\n`)).toThrow(/CommonJS|default import/);
  });
});
