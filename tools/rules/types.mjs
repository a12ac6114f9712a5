import ts from 'typescript';

/** Types of the rules, and the names that a script finds, as one file of declarations for the compiler. */
export function declaredTypes({ files }) {
  const types = [];
  for (const { source } of files.values()) {
    for (const statement of source.statements) {
      if (!ts.isInterfaceDeclaration(statement) && !ts.isTypeAliasDeclaration(statement)) continue;
      types.push(statement.getFullText().replace(/^(\s*(?:\/\*\*[^]*?\*\/\s*)?)export /, '$1'));
    }
  }
  const { source, own } = files.get('host');
  const places = [...own.keys()].map((name) => `declare function PATTERN_${name}(this: void): void;`);
  return `${[...types, ...places, ...source.statements.map(signatureOf)].join('\n')}
declare const redis: Server;
declare const KEYS: readonly string[];
declare const ARGV: readonly string[];
declare const counted: boolean;
declare const sharded: boolean;
declare const fenceMs: number | undefined;
`;
}

function signatureOf(statement) {
  if (ts.isFunctionDeclaration(statement)) return declared(statement.name.text, statement);
  if (!ts.isVariableStatement(statement)) return '';
  const [{ name, initializer }] = statement.declarationList.declarations;
  return initializer && ts.isArrowFunction(initializer) ? declared(name.text, initializer) : '';
}

function declared(name, { typeParameters, parameters, type }) {
  const generic = typeParameters ? `<${typeParameters.map((each) => each.getText()).join(', ')}>` : '';
  const taken = ['this: void', ...parameters.map((each) => each.getText())].join(', ');
  // A result type `readonly [...]` becomes several return values in Lua, without a table.
  const returned = type.getText().replace(/^readonly (\[.*\])$/, 'LuaMultiReturn<$1>');
  return `declare function ${name}${generic}(${taken}): ${returned};`;
}
