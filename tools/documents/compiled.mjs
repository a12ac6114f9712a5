import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { readDocuments } from './documents.mjs';
import { sourcesOf } from './snippets.mjs';

/** Consumers compile and run these files with their own packages and settings. */
const OF_CONSUMERS = /^test\/consumers\/[^/]+-starter\//;

/** The compiler errors in the source files of snippets, with the settings of the repository. */
export function compilerFaults(root, config = join(root, 'tsconfig.json')) {
  const all = readDocuments(root).flatMap(({ text }) => sourcesOf(text));
  const sources = all.filter((file) => !OF_CONSUMERS.test(file));
  const files = [...new Set(sources)].filter((file) => /\.tsx?$/.test(file)).map((file) => join(root, file));
  const { options, fileNames } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(config, (file) => ts.sys.readFile(file)).config,
    ts.sys,
    root,
  );
  const there = files.filter((file) => existsSync(file));
  const ambient = fileNames.filter((file) => file.endsWith('.d.ts'));
  const program = ts.createProgram([...there, ...ambient], { ...options, noEmit: true });
  return there.flatMap((file) => {
    const source = program.getSourceFile(file);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map((diagnostic) => shown(root, source, diagnostic));
  });
}

function shown(root, source, { start = 0, messageText }) {
  const { line } = source.getLineAndCharacterOfPosition(start);
  const path = relative(root, source.fileName);
  return `${path}:${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
}
