import ts from 'typescript';
import { constantValue, fileOf, valueOf } from './sources.mjs';

/** What Redis has as globals, and what the settings of a script set. */
const GIVEN = new Set(['redis', 'KEYS', 'ARGV', 'counted', 'sharded', 'fenceMs']);
/** The file of the functions that a script takes from `host.lua`. */
const HOST = 'host';

/**
 * Collects the declarations that a rule needs. The map has each piece after the pieces that it uses.
 */
export class Bundle {
  pieces = new Map();

  constructor(sources, entry) {
    this.sources = sources;
    const start = [...sources.files].find(([, { own }]) => own.has(entry));
    if (!start) throw new Error(`no rule is named ${entry}`);
    this.include(start[0], entry);
  }

  include(file, name) {
    const known = this.pieces.get(name);
    if (known?.file === file) return;
    if (known) throw new Error(`${name} is in ${known.file}.ts and in ${file}.ts: rename one`);
    const statement = this.sources.files.get(file).own.get(name);
    if (!statement) throw new Error(`${file}.ts does not declare ${name}`);
    const piece = { file, uses: new Set(), isFunction: declaresFunction(statement) };
    this.pieces.set(name, piece);
    Object.assign(piece, { statement, replaced: this.replacements(file, name, statement, piece) });
    this.pieces.delete(name);
    this.pieces.set(name, piece);
  }

  /** Includes what a declaration refers to; returns the constants to replace by their values. */
  replacements(file, name, statement, piece) {
    const { own, imports } = this.sources.files.get(file);
    const replaced = this.numbersOfCommands(file, statement);
    const isReplaced = (node) => replaced.some(({ start, end }) => start <= node.getStart() && node.end <= end);
    for (const node of references(statement)) {
      if (isReplaced(node)) continue;
      const used = node.text;
      const from = imports.get(used);
      const value = constantValue(this.sources, file, used);
      if (value !== undefined) replaced.push({ start: node.getStart(), end: node.end, value });
      else if (used !== name && own.has(used)) this.use(piece, file, used);
      else if (from !== undefined && !GIVEN.has(used)) this.use(piece, fileOf(from), used);
    }
    return replaced;
  }

  /** Constant numbers in a command of Redis become texts, because Redis formats each number slowly. */
  numbersOfCommands(file, statement) {
    const found = [];
    for (const node of argumentsOfCommands(statement)) {
      const value = valueOf(node, (name) => constantValue(this.sources, file, name));
      if (typeof value === 'number') found.push({ start: node.getStart(), end: node.end, value: `"${value}"` });
    }
    return found;
  }

  use(piece, file, name) {
    if (file === HOST) return;
    piece.uses.add(name);
    this.include(file, name);
  }
}

function declaresFunction(statement) {
  if (ts.isFunctionDeclaration(statement)) return true;
  const { initializer } = statement.declarationList.declarations[0];
  return initializer !== undefined && ts.isArrowFunction(initializer);
}

/** What a declaration passes to `redis.call` and `redis.pcall`. */
function argumentsOfCommands(node) {
  const isCommand = ts.isCallExpression(node) && /^redis\.p?call$/.test(node.expression.getText());
  const inside = [];
  node.forEachChild((child) => void inside.push(...argumentsOfCommands(child)));
  return isCommand ? [...node.arguments, ...inside] : inside;
}

/** Identifiers that denote a value, not the name of a property or of a declaration. */
export function references(statement) {
  const found = [];
  visit(statement);
  return found;

  function visit(node) {
    if (ts.isTypeNode(node)) return;
    if (ts.isIdentifier(node) && denotesValue(node)) found.push(node);
    node.forEachChild(visit);
  }
}

function denotesValue(node) {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent) || ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isParameter(parent) || ts.isVariableDeclaration(parent)) return parent.initializer === node;
  return true;
}
