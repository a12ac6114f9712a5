import path from 'node:path';

import ts from 'typescript';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** In the library, so that it may import its files. The file does not exist. */
const SAMPLE = path.join(ROOT, 'libs/distribute-lock/src/sample.ts');

/** Files that do not change are parsed once. */
const parsed = new Map<string, ts.SourceFile | undefined>();

function optionsOf(more?: ts.CompilerOptions): ts.CompilerOptions {
  const config = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), (name) => ts.sys.readFile(name));
  const { options } = ts.parseJsonConfigFileContent({ ...(config.config as object), include: [] }, ts.sys, ROOT);
  return { ...options, noEmit: true, ...more };
}

/** Checks an in-memory file with the options of the repository, and counts the types that the compiler instantiates for it. */
export function typeCheck(
  source: string,
  more?: ts.CompilerOptions,
): { diagnostics: readonly ts.Diagnostic[]; instantiations: number } {
  const options = optionsOf(more);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === SAMPLE || fileExists.call(host, name);
  host.getSourceFile = (name, language) => {
    if (name === SAMPLE) return ts.createSourceFile(name, source, language, true);
    const file = parsed.get(name) ?? getSourceFile.call(host, name, language);
    parsed.set(name, file);
    return file;
  };
  const program = ts.createProgram([SAMPLE], options, host);
  const diagnostics = program.getSemanticDiagnostics(program.getSourceFile(SAMPLE));
  return { diagnostics, instantiations: program.getInstantiationCount() };
}

/** The compile errors of a source as text, by the number in the name of its class: `class C0`, `class C1`, in this order. */
export function errorsByClass(source: string, more?: ts.CompilerOptions): Map<number, string> {
  return new Map(
    typeCheck(source, more).diagnostics.map(({ start = 0, messageText }) => [
      source.slice(0, start).split('class C').length - 2,
      ts.flattenDiagnosticMessageText(messageText, '\n'),
    ]),
  );
}

/** Returns the documentation that an editor shows for the name after the first occurrence of a text, for each of `texts`. */
export function hoverTexts(source: string, texts: readonly string[]): string[] {
  const service = ts.createLanguageService({
    getCompilationSettings: () => optionsOf(),
    getScriptFileNames: () => [SAMPLE],
    getScriptVersion: () => '1',
    getScriptSnapshot: (name) => {
      const text = name === SAMPLE ? source : ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (name) => name === SAMPLE || ts.sys.fileExists(name),
    readFile: (name) => (name === SAMPLE ? source : ts.sys.readFile(name)),
    directoryExists: (name) => ts.sys.directoryExists(name),
  });
  try {
    return texts.map((text) => {
      const info = service.getQuickInfoAtPosition(SAMPLE, source.indexOf(text) + text.length);
      return ts.displayPartsToString(info?.documentation);
    });
  } finally {
    service.dispose();
  }
}
