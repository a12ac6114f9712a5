/**
 * Tables written from code. In a document such a table follows one of these lines:
 *
 *     <!-- options of LockOptions in libs/distribute-lock/src/options/lock-options.ts -->   an interface of options
 *     <!-- members of LockEvent in libs/distribute-lock/src/events.ts -->                   another interface, or a class
 *     <!-- values of LeaseLossReason in libs/distribute-lock/src/errors.ts -->              the list in the TSDoc of a type
 *     <!-- exports of libs/distribute-lock/src/index.ts from nest/ errors.js -->            what an entry exports from these files
 *     <!-- measures -->                                                                     the measures of test/fault
 *     <!-- flags of run of distribute-lock -->                                              a table of the program, see command-line.mjs
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { MEASURES } from '../../test/fault/measures/all.mjs';
import { commandLineTable } from './command-line.mjs';
import { exportsOf } from './exports.mjs';
import { docOf, textOf } from './tsdoc.mjs';

const TABLE =
  /(<!-- (?:(options|members|values) of (\w+) in (\S+)|(exports) of (\S+)(?: from ([^>]+))?|measures|(commands|exit codes|shared flags|checks|flags of \w+) of distribute-lock) -->\n)(?:\n(?:\|[^\n]*\n)+)?/g;
const KNOWN = [ts.isInterfaceDeclaration, ts.isTypeAliasDeclaration, ts.isClassDeclaration];
const IS_DURATION = /^Duration(<.*>)?$/;

const KINDS = {
  options: (declaration, source) =>
    table(
      ['option', 'values', 'default', 'what it does'],
      declaration.members.filter(ts.isPropertySignature).map((member) => optionOf(source, member)),
    ),
  members: (declaration, source) =>
    table(
      ['name', 'type', 'meaning'],
      declaration.members.filter(isPublic).map((member) => memberOf(source, member)),
    ),
  values: (declaration) => table(['value', 'meaning'], valuesOf(declaration)),
};

/** `text` with every table updated from its source. */
export function withTables(root, text) {
  return text.replace(TABLE, (_table, line, kind, name, file, isExports, entry, from, ofProgram) => {
    if (ofProgram !== undefined) return `${line}\n${programTable(root, ofProgram)}`;
    const written = isExports ? exportTable(root, entry, from?.split(' ')) : tableOf(root, kind, name, file);
    return `${line}\n${written}`;
  });
}

/** The messages for the faulty tables of `text`. */
export function tableFaults(root, name, text) {
  if (withTables(root, text) === text) return [];
  return [`${name}: its tables differ from the code: run \`npm run docs\``];
}

function tableOf(root, kind, name, file) {
  if (kind === undefined) return table(['promise', 'measure', 'file', 'test'], MEASURES.map(measureRow));
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
  const found = source.statements.find(
    (statement) => KNOWN.some((isKnown) => isKnown(statement)) && statement.name.text === name,
  );
  if (found === undefined) throw new Error(`${file} has no interface or class ${name}`);
  return KINDS[kind](found, source);
}

function exportTable(root, entry, from) {
  const rows = exportsOf(root, entry, from).map(({ name, kind, sentence }) => [`\`${name}\``, kind, cell(sentence)]);
  return table(['name', 'kind', 'what it is'], rows);
}

function programTable(root, what) {
  const [titles, rows] = commandLineTable(root, what);
  return table(
    titles,
    rows.map((cells) => cells.map(cell)),
  );
}

function table(titles, rows) {
  return [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

function optionOf(source, member) {
  const tag = ts.getJSDocTags(member).find(({ tagName }) => tagName.text === 'defaultValue');
  const type = typeOf(source, member);
  return [
    `\`${member.name.getText(source)}\``,
    IS_DURATION.test(type) ? 'duration' : cell(`\`${type}\``),
    tag === undefined ? (member.questionToken === undefined ? 'required' : 'none') : cell(textOf(tag)),
    cell(docOf(member)),
  ];
}

/** The types in the package do not contain the other members. */
const isPublic = (member) => ts.getJSDocTags(member).every(({ tagName }) => tagName.text !== 'internal');

/** A method shows its parameters, a property whether it is optional. */
function memberOf(source, member) {
  const name = member.name.getText(source);
  const parameters = member.parameters?.map((parameter) => parameter.getText(source).replace(/:.*/s, '')).join(', ');
  const shown = parameters === undefined ? name + (member.questionToken ? '?' : '') : `${name}(${parameters})`;
  return [`\`${shown}\``, cell(`\`${typeOf(source, member)}\``), cell(docOf(member))];
}

/** Items such as "- `'value'`: meaning". An item may have several values, and several lines. */
function valuesOf(declaration) {
  const items = docOf(declaration).matchAll(/^- (`[^:]*`): ((?:.|\n(?!- |\n))*)/gm);
  return [...items].map(([, values, meaning]) => [
    cell(values),
    cell(`${meaning[0].toUpperCase()}${meaning.slice(1)}`),
  ]);
}

const measureRow = ({ promise, what, file, test: [spec, title] }) => [
  promise,
  cell(what),
  `\`${file}\``,
  `\`${spec}\`: \`${title.replaceAll('|', '\\|').replaceAll('`', '')}\``,
];

const typeOf = (source, member) => member.type.getText(source).replace(/\s+/g, ' ');

function cell(text) {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|').trim();
}
