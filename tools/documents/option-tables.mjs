/**
 * Tables of options, written from the TSDoc of their interfaces. In a document such a table follows the line
 *
 *     <!-- options of LockOptions in libs/distribute-lock/src/options/lock-options.ts -->
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const TABLE = /(<!-- options of (\w+) in (\S+) -->\n)(?:\n(?:\|[^\n]*\n)+)?/g;
const HEAD = '| option | values | default | what it does |\n| --- | --- | --- | --- |\n';
const UNITS = { Duration: 'duration' };

/** `text` with every table updated from its interface. */
export function withOptionTables(root, text) {
  return text.replace(TABLE, (_table, line, name, file) => `${line}\n${tableOf(root, name, file)}`);
}

/** The messages for the faulty tables of `text`. */
export function optionTableFaults(root, name, text) {
  if (withOptionTables(root, text) === text) return [];
  return [`${name}: its tables of options differ from the TSDoc: run \`npm run docs\``];
}

/** Every option of an interface with its default; own members only. */
function optionsOf(root, name, file) {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
  const found = source.statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  );
  if (found === undefined) throw new Error(`${file} has no interface ${name}`);
  return found.members.filter((member) => ts.isPropertySignature(member)).map((member) => optionOf(source, member));
}

function tableOf(root, name, file) {
  const rows = optionsOf(root, name, file).map(
    (option) => `| \`${option.name}\` | ${option.values} | ${option.byDefault} | ${option.meaning} |\n`,
  );
  return HEAD + rows.join('');
}

function optionOf(source, member) {
  const [doc] = ts.getJSDocCommentsAndTags(member);
  const tag = ts.getJSDocTags(member).find(({ tagName }) => tagName.text === 'defaultValue');
  const type = member.type.getText(source).replace(/\s+/g, ' ');
  return {
    name: member.name.getText(source),
    values: UNITS[type] ?? cell(`\`${type}\``),
    byDefault: tag === undefined ? (member.questionToken === undefined ? 'required' : 'none') : cell(textOf(tag)),
    meaning: cell(textOf(doc)),
  };
}

function textOf(doc) {
  const text = ts.getTextOfJSDocComment(doc?.comment) ?? '';
  return text.replace(/\{@link (\S+?)\}/g, '`$1`').trim();
}

function cell(text) {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|');
}
