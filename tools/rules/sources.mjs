import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** Files of the store whose constants are written into the scripts. */
const CONSTANTS = ['protocol.ts', 'lock-value.ts', 'protocol/reply-codes.ts'];

/**
 * Reads the rules in `store/protocol`. Each file has its declarations by name, its imports by name, and the values of its
 * constants.
 */
export function readSources(store, folder) {
  const numbers = new Map(CONSTANTS.flatMap((name) => constantsOf(parse(join(store, name)))));
  const files = new Map();
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.ts') || name.endsWith('.spec.ts')) continue;
    const source = parse(join(folder, name));
    files.set(name.replace(/\.ts$/, ''), {
      source,
      own: declarationsOf(source),
      imports: importsOf(source),
      constants: new Map(constantsOf(source)),
    });
  }
  return { files, numbers };
}

/** The name of the file that a specifier denotes. */
export const fileOf = (specifier) => specifier.replace(/^\.\/|\.js$/g, '');

/** The value of a constant that a file declares or imports; undefined if the name denotes something else. */
export function constantValue({ files, numbers }, file, name) {
  const { imports, constants } = files.get(file);
  const from = imports.get(name);
  if (from === undefined) return constants.get(name);
  const other = files.get(fileOf(from));
  return other ? other.constants.get(name) : numbers.get(name);
}

const parse = (file) => ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);

/** Names and values of the constants that are a number or a text. */
function constantsOf(source) {
  const found = [];
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement) || !(statement.declarationList.flags & ts.NodeFlags.Const)) continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      const value = initializer && valueOf(initializer);
      if (value !== undefined) found.push([name.text, value]);
    }
  }
  return found;
}

const OPERATIONS = new Map([
  [ts.SyntaxKind.AsteriskAsteriskToken, (left, right) => left ** right],
  [ts.SyntaxKind.MinusToken, (left, right) => left - right],
]);

/** The number or the text that an expression always has; undefined if it is no constant. */
export function valueOf(node, valueOfName = () => undefined) {
  if (ts.isNumericLiteral(node)) return Number(node.text.replaceAll('_', ''));
  if (ts.isStringLiteral(node)) return JSON.stringify(node.text);
  if (ts.isIdentifier(node)) return valueOfName(node.text);
  if (ts.isParenthesizedExpression(node)) return valueOf(node.expression, valueOfName);
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken) {
    const value = valueOf(node.operand, valueOfName);
    return typeof value === 'number' ? -value : undefined;
  }
  if (!ts.isBinaryExpression(node)) return undefined;
  const [left, right] = [node.left, node.right].map((side) => valueOf(side, valueOfName));
  const isNumeric = typeof left === 'number' && typeof right === 'number';
  return isNumeric ? OPERATIONS.get(node.operatorToken.kind)?.(left, right) : undefined;
}

/** Functions and variables by name, without interfaces and types. */
function declarationsOf(source) {
  const found = new Map();
  for (const statement of source.statements) {
    if (ts.isFunctionDeclaration(statement) && statement.body) found.set(statement.name.text, statement);
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name } of statement.declarationList.declarations) found.set(name.text, statement);
  }
  return found;
}

function importsOf(source) {
  const found = new Map();
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement)) continue;
    for (const { name, propertyName } of statement.importClause?.namedBindings?.elements ?? []) {
      if (propertyName) throw new Error(`a rule imports ${propertyName.text} as ${name.text}: use the name`);
      found.set(name.text, statement.moduleSpecifier.text);
    }
  }
  return found;
}
