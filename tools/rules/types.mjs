import ts from 'typescript';

/** Types of the rules, and the names that a script finds, as one file of declarations for the compiler. */
export function declaredTypes({ files }) {
  const isType = (statement) => ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
  const types = [...files.values()].flatMap(({ source }) => source.statements.filter(isType));
  const host = ts.transpileDeclaration(files.get('host').source.text, {}).outputText;
  // A result type `readonly [...]` of `host.ts` is several values in Lua, without a table.
  const several = host.replace(/^import .*\n/gm, '').replace(/: readonly (\[.*\]);/g, ': LuaMultiReturn<$1>;');
  return `/** @noSelfInFile */
${[...types.map((each) => each.getFullText()), several].join('\n').replace(/^export /gm, '')}
declare const redis: Server;
declare const KEYS: readonly string[];
declare const ARGV: readonly string[];
declare const counted: boolean;
declare const sharded: boolean;
declare const fenceMs: number | undefined;
`;
}
