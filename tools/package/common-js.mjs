import { parseAst } from 'rollup/parseAst';

/**
 * The same part as CommonJS, for `require()`. Only the lines of imports and exports differ, because gzip stores the rest of
 * the second format for free. The bundler's CommonJS names the part at each use (`part4.Timer`), which takes 6 kB more.
 *
 * Names are read once, so an exported name must have its value when its part has run. Parts must not import each other in a
 * circle, of which the bundler warns. A package of CommonJS is its own default export, as in Node.
 * @param code - an ES module as the bundler writes it
 */
export function commonJs(code) {
  const changes = [];
  visit(parseAst(code), (node) => {
    const text = replacement(node, code);
    if (text !== undefined) changes.push({ ...node, text });
  });
  let changed = "'use strict';\n\n";
  let at = 0;
  for (const { start, end, text } of changes.sort((a, b) => a.start - b.start)) {
    changed += code.slice(at, start) + text;
    at = end;
  }
  return changed + code.slice(at);
}

function visit(node, change) {
  if (typeof node?.type === 'string') change(node);
  for (const part of Object.values(node)) if (typeof part === 'object' && part !== null) visit(part, change);
}

function replacement({ type, start, end, ...node }, code) {
  switch (type) {
    case 'ImportDeclaration':
      return imported(node.specifiers, load(node.source));
    case 'ExportNamedDeclaration':
      if (node.declaration === null && node.source === null) return exported(node.specifiers);
      break;
    case 'ImportExpression':
      // Jest in CommonJS mode has no `import()`. Bundlers accept an absent package only if `require()` itself is inside `try`, so no
      // function may surround it. All imports are awaited, and `await` accepts a module.
      return load(node.source);
    case 'ExportDefaultDeclaration':
    case 'ExportAllDeclaration':
    case 'MetaProperty':
      if (node.meta?.name === 'new') return undefined;
      break;
    default:
      return undefined;
  }
  throw new Error(`No CommonJS is known for: ${code.slice(start, end)}`);
}

/** Bundlers that make ES modules cannot bundle a `require()` of a module of Node. */
function load({ value, raw }) {
  return value.startsWith('node:') ? `process.getBuiltinModule(${raw})` : `require(${raw})`;
}

function imported(specifiers, required) {
  const [first] = specifiers;
  if (first === undefined) return `${required};`;
  if (first.type !== 'ImportSpecifier') {
    if (specifiers.length > 1) throw new Error(`A default import beside other names: ${required}`);
    return `const ${first.local.name} = ${required};`;
  }
  return `const { ${specifiers.map(({ imported: { name }, local }) => renamed(name, local.name)).join(', ')} } = ${required};`;
}

const exported = (specifiers) =>
  `module.exports = { ${specifiers.map(({ local, exported: { name } }) => renamed(name, local.name)).join(', ')} };`;

const renamed = (name, local) => (name === local ? name : `${name}: ${local}`);
