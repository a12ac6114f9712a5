/** Finds names of TypeScript files that have two meanings, things that have two names, and words that the glossary replaces. */
import ts from 'typescript';

/** Words that no name contains, and what a name says instead. A name is split where a capital letter or a dash begins a word. */
const REPLACED = new Map([
  ['asked', 'attempt or request'],
  ['asking', 'attempt or request'],
  ['question', 'attempt or call'],
  ['questions', 'attempts or calls'],
  ['told', 'notified'],
  ['heard', 'received'],
  ['hearer', 'listener'],
  ['mailbox', 'inbox'],
  ['heir', 'next waiter'],
  ['several', 'multi-key'],
  ['joint', 'multi-key'],
  ['leftover', 'abandoned token'],
  ['leftovers', 'abandoned tokens'],
  ['bury', 'abandon'],
  ['buried', 'abandoned'],
  ['mute', 'unresponsive'],
  ['nobody', 'the role'],
  ['somebody', 'the role'],
  ['whoever', 'the role'],
  ['keeper', 'the idea'],
  ['utils', 'the idea'],
  ['helpers', 'the idea'],
  // These words had several meanings.
  ['numbers', 'a block of fencing tokens, or what is counted'],
  ['standing', 'the state, or the place in the queue'],
  ['stood', 'kept its place'],
]);

/** Options of other libraries. */
const OF_OTHERS = new Set(['stringNumbers']);

/** Words that names outside of the library do not contain either. */
const DIALECT = new Set(['asked', 'asking', 'told', 'heard']);

const wordsOf = (name) => name.split(/[^a-zA-Z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/).filter(Boolean);

/** What is wrong with the words of a name; `undefined` if nothing is. */
export function wordFault(name) {
  if (OF_OTHERS.has(name)) return undefined;
  const word = wordsOf(name).find((each) => REPLACED.has(each.toLowerCase()));
  return word && `"${name}" contains "${word}": name ${REPLACED.get(word.toLowerCase())}`;
}

/**
 * The faults of the files of one package.
 * @param files - pairs of path and text
 */
export function nameFaults(files) {
  const sources = files.map(([path, text]) => [path, ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)]);
  const exporters = new Map();
  const faults = [];
  for (const [path, source] of sources) {
    for (const { text: name } of source.statements.flatMap(exportedNames)) {
      const first = exporters.get(name);
      if (first === undefined) exporters.set(name, path);
      else if (first !== path) faults.push(`${path}: exports "${name}", as does ${first}`);
    }
  }
  for (const [path, source] of sources) {
    const report = (node, fault) => faults.push(`${path}:${lineOf(source, node)}: ${fault}`);
    for (const { name } of source.statements.filter(isLocalType)) {
      const exporter = exporters.get(name.text);
      if (exporter !== undefined) report(name, `has another "${name.text}" than ${exporter}`);
    }
    visit(source, report);
  }
  return faults;
}

/** Names of a file outside of the library that contain a word of the dialect. */
export function dialectFaults(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const faults = [];
  const look = (node) => {
    if (declares(node) && wordsOf(node.name.text).some((word) => DIALECT.has(word.toLowerCase())))
      faults.push(`${path}:${lineOf(source, node)}: ${wordFault(node.name.text)}`);
    ts.forEachChild(node, look);
  };
  look(source);
  return faults;
}

const isExported = ({ modifiers }) => modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;

/** Whether the statement declares a class or a type for its file only. */
const isLocalType = (statement) =>
  !isExported(statement) &&
  (ts.isClassDeclaration(statement) || ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement));

/** The names that a statement declares and exports; a re-export declares none. */
function exportedNames(statement) {
  if (!isExported(statement)) return [];
  if (!ts.isVariableStatement(statement)) return statement.name === undefined ? [] : [statement.name];
  return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name] : []));
}

function visit(node, report) {
  const second = secondName(node);
  if (second !== undefined) report(node, second);
  if (declares(node)) {
    const fault = wordFault(node.name.text);
    if (fault !== undefined) report(node, fault);
  }
  ts.forEachChild(node, (child) => visit(child, report));
}

/** Whether the node gives a name to a thing of this file. */
const declares = (node) =>
  node.name !== undefined &&
  (ts.isIdentifier(node.name) || ts.isPrivateIdentifier(node.name)) &&
  !ts.isPropertyAccessExpression(node) &&
  !ts.isImportSpecifier(node) &&
  !ts.isExportSpecifier(node);

/** A second name for something that has one: an export under another name, or a type that is only another type. */
function secondName(node) {
  if (ts.isExportSpecifier(node) && node.propertyName !== undefined)
    return `exports "${node.propertyName.text}" as "${node.name.text}": use one name`;
  if (!ts.isTypeAliasDeclaration(node) || node.typeParameters !== undefined) return undefined;
  const { type } = node;
  if (!ts.isTypeReferenceNode(type) || type.typeArguments !== undefined || !ts.isIdentifier(type.typeName))
    return undefined;
  return `"${node.name.text}" is a second name of "${type.typeName.text}"`;
}

const lineOf = (source, node) => source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
