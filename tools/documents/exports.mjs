import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { docOf } from './tsdoc.mjs';

const KINDS = new Map([
  [ts.SyntaxKind.ClassDeclaration, 'class'],
  [ts.SyntaxKind.FunctionDeclaration, 'function'],
  [ts.SyntaxKind.InterfaceDeclaration, 'interface'],
  [ts.SyntaxKind.TypeAliasDeclaration, 'type'],
  [ts.SyntaxKind.VariableStatement, 'constant'],
]);

/**
 * What an entry exports: `[{ name, kind, sentence }]`, in the order of the alphabet. `sentence` is the first one of its TSDoc.
 * @param from - only exports of these files, or of folders that end with `/`; all exports by default
 */
export function exportsOf(root, entry, from = ['']) {
  const wanted = sourcesOf(root, entry).filter(({ path }) => from.some((start) => isWithin(path, start)));
  if (wanted.length === 0) throw new Error(`${entry} exports nothing from ${from.join(' ')}`);
  return wanted
    .flatMap(({ path, names }) => described(root, join(dirname(entry), path.replace(/\.js$/, '.ts')), names))
    .toSorted((one, other) => one.name.localeCompare(other.name, 'en', { sensitivity: 'base' }));
}

/** The files from which an entry exports, relative to it, with the exported names. */
function sourcesOf(root, entry) {
  return parsed(root, entry)
    .statements.filter(ts.isExportDeclaration)
    .flatMap(({ moduleSpecifier, exportClause }) => {
      const path = moduleSpecifier.text.replace(/^\.\//, '');
      // All exports of a file beside the entry.
      if (exportClause === undefined) return sourcesOf(root, join(dirname(entry), path.replace(/\.js$/, '.ts')));
      return [{ path, names: exportClause.elements.map(({ name }) => name.text) }];
    });
}

const isWithin = (path, start) => path === start || ((start === '' || start.endsWith('/')) && path.startsWith(start));

function described(root, file, names) {
  return names.map((name) => {
    const declaration = declarationOf(root, file, name);
    return { name, kind: KINDS.get(declaration.kind), sentence: firstSentence(file, name, declaration) };
  });
}

function declarationOf(root, file, name) {
  const { statements } = parsed(root, file);
  const declaration = statements.find((statement) => namesOf(statement).includes(name));
  if (declaration !== undefined) return declaration;
  const source = statements.map((statement) => sourceOf(statement, name)).find((found) => found !== undefined);
  if (source === undefined) throw new Error(`${file} does not declare ${name}`);
  return declarationOf(root, join(dirname(file), source.replace(/\.js$/, '.ts')), name);
}

/** The file from which a statement imports or exports the name. */
function sourceOf(statement, name) {
  if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return undefined;
  const { elements = [] } = statement.exportClause ?? statement.importClause?.namedBindings ?? {};
  return elements.some((each) => each.name.text === name) ? statement.moduleSpecifier?.text : undefined;
}

const namesOf = (statement) =>
  ts.isVariableStatement(statement)
    ? statement.declarationList.declarations.map(({ name }) => name.text)
    : [statement.name?.text];

/** Up to the first full stop before a space, outside of code. */
function firstSentence(file, name, declaration) {
  const text = docOf(declaration);
  if (text === '') throw new Error(`${file}: ${name} has no TSDoc`);
  const [paragraph] = text.split(/\n\s*\n/);
  return /^(?:`[^`]*`|[^`])*?[.:](?=\s|$)/.exec(paragraph)?.[0].replace(/:$/, '.') ?? paragraph;
}

function parsed(root, file) {
  return ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
}
