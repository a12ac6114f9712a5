/**
 * Writes the interface `LockOptions` from the table of lock options, so that an option is added in one place. Also writes a
 * function that compares all options of two objects. It runs in every call, and a loop over the names is three times slower.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const OPTIONS = 'libs/distribute-lock/src/options';
const TABLE = `${OPTIONS}/lock-options.ts`;
/** The file of the interface. */
export const INTERFACE = `${OPTIONS}/generated/lock-options.ts`;

/** The type of a row of each kind. */
const TYPES = {
  duration: () => "Duration<'or duration(text)'>",
  flag: () => 'boolean',
  count: () => 'number',
  choice: (_byDefault, allowed) => allowed.elements.map((element) => element.getText()).join(' | '),
  ofSemaphore: (row) => typeOf(row),
};

/** The current text of the interface, from the table. */
export function optionInterface(root) {
  const source = ts.createSourceFile(TABLE, readFileSync(join(root, TABLE), 'utf8'), ts.ScriptTarget.Latest, true);
  const rows = rowsOf(source);
  return [
    '// Written by `npm run docs` from the table in ../lock-options.ts. Do not edit.',
    "import type { Duration } from '../values.js';",
    '',
    '/** Options of a lock. A call overrides its decorator, a decorator the defaults of the module. @public */',
    'export interface LockOptions {',
    ...rows.map((row) => memberOf(source, row)),
    '}',
    '',
    '/** The names of all lock options, for messages of the compiler. @public */',
    'export type LockOptionNames =',
    `  '${rows.map((row) => row.name.text).join(', ')}';`,
    '',
    '/** Whether both objects have the same value for each lock option. */',
    'export function sameLockOptions(one: LockOptions, other: LockOptions): boolean {',
    '  return (',
    rows.map(({ name: { text } }) => `    one.${text} === other.${text}`).join(' &&\n'),
    '  );',
    '}',
    '',
  ].join('\n');
}

/** The messages for a faulty interface. */
export function optionInterfaceFaults(root) {
  if (!existsSync(join(root, TABLE))) return [];
  if (currentText(join(root, INTERFACE)) === optionInterface(root)) return [];
  return [`${INTERFACE} differs from the table of lock options: run \`npm run docs\``];
}

function rowsOf(source) {
  for (const statement of source.statements.filter(ts.isVariableStatement)) {
    const [{ name, initializer }] = statement.declarationList.declarations;
    if (name.getText() === 'LOCK_OPTIONS') return initializer.expression.properties;
  }
  throw new Error(`${TABLE} has no LOCK_OPTIONS`);
}

function memberOf(source, row) {
  const [doc] = ts.getJSDocCommentsAndTags(row);
  if (doc === undefined) throw new Error(`${TABLE}: the option "${row.name.text}" has no documentation`);
  const hasDefault = ts.getJSDocTags(row).some(({ tagName }) => tagName.text === 'defaultValue');
  const comment = hasDefault ? doc.getText() : withDefault(doc.getText(), defaultOf(row.initializer));
  return `  ${comment}\n  readonly ${row.name.text}?: ${typeOf(row.initializer)};`;
}

/** Adds the default as the last line of the comment. */
function withDefault(comment, byDefault) {
  return comment.replace(/\n?\s*\*\/$/, `\n   * @defaultValue \`${byDefault}\`\n   */`);
}

function defaultOf(call) {
  const [first] = call.arguments;
  return ts.isCallExpression(first) ? defaultOf(first) : first.getText();
}

function typeOf(call) {
  return TYPES[call.expression.getText()](...call.arguments);
}

function currentText(path) {
  return existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r\n', '\n') : undefined;
}
