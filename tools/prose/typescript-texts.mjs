/** Comments, test titles and messages of a TypeScript or JavaScript file. */
import ts from 'typescript';

const TEST_FUNCTIONS = new Set(['describe', 'it', 'test']);
/** Shorter strings are names, keys or values. */
const MESSAGE_WORDS = 5;
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*(?:\n[^\S\n]*\/\/[^\n]*)*/g;

/** Each text with its offset in the file. It has the length of its source, so offsets within it stay valid. */
export function typescriptTexts(name, source) {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest);
  const piece = (node, rewrite) => ({ from: node.getStart(file), to: node.end, rewrite });
  const strings = stringsIn(file, !name.includes('.spec.')).map(({ kind, node }) => {
    const offset = node.getStart(file);
    const pieces = piecesOf(node).map((part) => piece(part, isLiteral(part) ? literalText : word));
    return { kind, offset, text: rewritten(source, offset, node.end, pieces, blank) };
  });
  const literals = literalsIn(file).map((node) => piece(node, blank));
  const code = rewritten(source, 0, source.length, literals, (text) => text);
  const comments = [...code.matchAll(COMMENT)].map(({ 0: text, index }) => ({ kind: 'comment', offset: index, text }));
  return [...strings.filter(isProse), ...comments];
}

/** Titles of tests, and with `all` every other string. A sum of strings is one string. */
function stringsIn(node, all) {
  if (ts.isCallExpression(node) && isTest(node.expression) && isString(node.arguments[0])) {
    const [title, ...rest] = node.arguments;
    return [{ kind: 'title', node: title }, ...rest.flatMap((argument) => stringsIn(argument, all))];
  }
  if (!all || !isMessage(node)) return childrenOf(node).flatMap((child) => stringsIn(child, all));
  const placeholders = piecesOf(node).filter((piece) => !isLiteral(piece));
  return [{ kind: 'message', node }, ...placeholders.flatMap((piece) => stringsIn(piece, all))];
}

/** The literals and placeholders of a string or a sum, in their order. */
function piecesOf(node) {
  if (isSum(node)) return [...piecesOf(node.left), ...piecesOf(node.right)];
  if (!ts.isTemplateExpression(node)) return [node];
  return [node.head, ...node.templateSpans.flatMap(({ expression, literal }) => [expression, literal])];
}

const literalsIn = (node) => (isLiteral(node) ? [node] : childrenOf(node).flatMap(literalsIn));

function childrenOf(node) {
  const children = [];
  ts.forEachChild(node, (child) => void children.push(child));
  return children;
}

const isLiteral = (node) =>
  ts.isStringLiteralLike(node) || ts.isRegularExpressionLiteral(node) || ts.isTemplateHead(node) || isTail(node);
const isTail = ({ kind }) => kind === ts.SyntaxKind.TemplateMiddle || kind === ts.SyntaxKind.TemplateTail;
const isString = (node) => node !== undefined && (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node));
const isSum = (node) => ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken;
const isMessage = (node) => isString(node) || (isSum(node) && (isMessage(node.left) || isMessage(node.right)));

/** `it`, `it.only`, `it.each(rows)` and the like. */
function isTest(callee) {
  if (ts.isIdentifier(callee)) return TEST_FUNCTIONS.has(callee.text);
  if (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) return isTest(callee.expression);
  return ts.isTaggedTemplateExpression(callee) && isTest(callee.tag);
}

/** False for names and values, and for scripts of a test. */
const isProse = ({ kind, text }) =>
  kind === 'title' || (text.trim().split(/\s+/).length >= MESSAGE_WORDS && !text.includes('redis.call('));

/** The source between two offsets: each piece rewritten by its function, and the text between the pieces by `between`. */
function rewritten(source, start, end, pieces, between) {
  let [text, at] = ['', start];
  for (const { from, to, rewrite } of pieces) {
    text += between(source.slice(at, from)) + rewrite(source.slice(from, to));
    at = to;
  }
  return text + between(source.slice(at, end));
}

const blank = (text) => text.replace(/[^\n]/g, ' ');
const word = (text) => `X${'x'.repeat(text.length - 1)}`;
/** Without quotes and braces; an escape is not part of a word. */
const literalText = (text) =>
  text
    .replace(/^['"`}]|['"`]$/g, ' ')
    .replace(/\$\{$/, '  ')
    .replaceAll('\\n', '\n\n')
    .replace(/\\./g, (escape) => (/['"`]/.test(escape[1]) ? ` ${escape[1]}` : '  '));
