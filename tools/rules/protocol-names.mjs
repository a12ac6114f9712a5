/**
 * Reply codes and numbers of the protocol have one definition: `store/protocol/reply-codes.ts` and `store/protocol.ts`. Every
 * other file uses their names.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const CODES = 'store/protocol/reply-codes.ts';
const NUMBERS = 'store/protocol.ts';
/** Specs may state the numbers on the wire. */
const NOT_CHECKED = /\.spec\.ts$|(?:^|\/)generated\//;
const RULES = /^store\/protocol\//;
const DEFINITION = /^export const ([A-Z]\w*) = ([\d_]+);$/gm;
/** A constant, a property or a member with a number. */
const DEFINED = /(?:\b(?:const|let|var|static|readonly)\s+|^\s*|[{,]\s*)([A-Z]\w+)\s*(?::[^=\n]+=|[:=])\s*-?\d/gm;
/** A comparison of the code of a reply with a number or a constant. */
const COMPARED = /(?:(?<![.\w])code|\breply\[0\])\s*(?:[=!]==?|[<>]=?)\s*(\d+|[A-Z][A-Z_]*\b)/g;
/** A number of this size in a rule is a duration. */
const SHORTEST_DURATION_MS = 1_000;

/** Throws when a file of the library has a second definition, or spells a number. */
export function checkProtocolNames(source) {
  const [codes, numbers] = [CODES, NUMBERS].map((file) => definedIn(readFileSync(join(source, file), 'utf8')));
  checkGroups(readFileSync(join(source, CODES), 'utf8'));
  for (const name of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    const file = name.replaceAll('\\', '/');
    if (!file.endsWith('.ts') || NOT_CHECKED.test(file)) continue;
    const text = readFileSync(join(source, name), 'utf8');
    const fault = faultOf(file, text, codes, numbers);
    if (fault !== undefined) throw new Error(`${file}: ${fault}`);
  }
}

/** What a file does wrong; undefined if nothing. */
export function faultOf(file, text, codes, numbers) {
  return (
    (file === CODES ? undefined : faultOfCodes(text, codes)) ??
    (file === NUMBERS ? undefined : faultOfNumbers(text, numbers)) ??
    (RULES.test(file) ? faultOfRule(text, numbers) : undefined)
  );
}

/** Throws when two codes of one group have the same number. A comment begins each group. */
export function checkGroups(text) {
  for (const group of text.split(/^\/\/ /m)) {
    const names = new Map();
    for (const [name, number] of definedIn(group)) {
      if (names.has(number)) throw new Error(`${CODES}: ${names.get(number)} and ${name} have the number ${number}`);
      names.set(number, name);
    }
  }
}

/** Names and numbers of the constants. */
const definedIn = (text) =>
  new Map([...text.matchAll(DEFINITION)].map(([, name, digits]) => [name, Number(digits.replaceAll('_', ''))]));

function faultOfCodes(text, codes) {
  for (const [, name] of text.matchAll(DEFINED)) {
    if (codes.has(name)) return `defines the reply code ${name} a second time`;
  }
  for (const [, other] of text.matchAll(COMPARED)) {
    if (!codes.has(other)) return `spells the reply code ${other}: import its name`;
  }
  return undefined;
}

function faultOfNumbers(text, numbers) {
  for (const [, name] of text.matchAll(DEFINED)) {
    if (numbers.has(name)) return `defines ${name} a second time: import it from ${NUMBERS}`;
  }
  return undefined;
}

/** A rule replies with a list of three, whose code has a name; it spells no duration. */
function faultOfRule(text, numbers) {
  let fault;
  visit(ts.createSourceFile('rule.ts', text, ts.ScriptTarget.Latest, true));
  return fault;

  function visit(node) {
    if (ts.isArrayLiteralExpression(node) && node.elements.length === 3 && ts.isNumericLiteral(node.elements[0])) {
      fault ??= `spells the reply code ${node.elements[0].text}: import its name`;
    }
    if (ts.isVariableDeclaration(node) && /Ms$|_MS$/.test(node.name.getText()) && isNumber(node.initializer)) {
      fault ??= `gives ${node.name.getText()} a number: define it in ${NUMBERS}`;
    }
    const digits = ts.isNumericLiteral(node) || ts.isStringLiteral(node) ? node.text : '';
    const name = [...numbers.keys()].find((each) => each.endsWith('_MS') && numbers.get(each) === Number(digits));
    if (name !== undefined && Number(digits) >= SHORTEST_DURATION_MS) fault ??= `spells ${digits}: use ${name}`;
    node.forEachChild(visit);
  }
}

const isNumber = (node) => node !== undefined && (ts.isNumericLiteral(node) || /^'\d+'$/.test(node.getText()));
