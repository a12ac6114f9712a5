import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { CLI, cliManifest, DIST, entries, LIBRARY, ROOT } from './library.mjs';

const TYPES = join(DIST, 'esm');
/** The report of the main entry; the other entries are published beside it. */
const MAIN = 'index';
/** What has a report: the entries of the library, and the package that exports one of them again. */
const REPORTED = [
  ...entries.map(({ specifier, name }) => ({ specifier, name, folder: LIBRARY, types: join(TYPES, `${name}.d.ts`) })),
  { specifier: cliManifest.name, name: MAIN, folder: CLI, types: join(CLI, 'index.d.ts') },
];

/**
 * The types of each entry match its report in `etc`, and every type that users can reach has a name that they can import.
 * With `write`, the reports are updated.
 */
export function api(_packed, write = false) {
  const temp = mkdtempSync(join(tmpdir(), 'api-'));
  try {
    return `as reported: ${REPORTED.map((one) => check(one, temp, write)).join(', ')}`;
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}

function check(reported, temp, write) {
  const { specifier, name, folder } = reported;
  const wrong = [];
  const { succeeded, apiReportChanged } = Extractor.invoke(config(reported, temp), {
    localBuild: write,
    messageCallback(message) {
      message.handled = true;
      const { logLevel, messageId, text, properties } = message;
      const fault = logLevel === ExtractorLogLevel.Error || logLevel === ExtractorLogLevel.Warning;
      if (!fault || messageId.startsWith('console-')) return;
      const fromMain = name !== MAIN && namesOf(MAIN).has(properties.exportName ?? nameIn(text));
      if (messageId === 'ae-forgotten-export' && fromMain) message.logLevel = ExtractorLogLevel.None;
      else wrong.push(`${specifier}: ${messageId}: ${text}`);
    },
  });
  const outdated = `${specifier} differs from ${relative(ROOT, join(folder, 'etc', `${name}.api.md`))}. If the change is intended, run npm run api and commit the report`;
  if (apiReportChanged && !write) wrong.push(outdated);
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  if (!succeeded && !write) throw new Error(`API Extractor failed for ${specifier}`);
  return specifier;
}

/** `The symbol "X" needs to be exported by the entry point ...` */
function nameIn(text) {
  return /^The symbol "([^"]+)"/.exec(text)?.[1];
}

/** The exports of an entry, as the bundler wrote them: `export { a as X, Y } from ...`. */
function namesOf(name) {
  const lists = readFileSync(join(TYPES, `${name}.d.ts`), 'utf8').matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  return new Set([...lists].flatMap(([, list]) => list.split(',').map((one) => one.trim().split(' ').at(-1))));
}

const quiet = { logLevel: 'none' };
const fault = { logLevel: 'error' };
/** What counts as a fault of the types. */
const MESSAGES = {
  compilerMessageReporting: { default: fault },
  extractorMessageReporting: {
    default: quiet,
    'ae-forgotten-export': fault,
    'ae-incompatible-release-tags': fault,
    'ae-missing-release-tag': fault,
  },
  tsdocMessageReporting: { default: quiet },
};

function config({ name, folder, types }, temp) {
  const reportFolder = join(folder, 'etc');
  mkdirSync(reportFolder, { recursive: true });
  return ExtractorConfig.prepare({
    packageJsonFullPath: join(folder, 'package.json'),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: types,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            module: 'nodenext',
            // Without the DOM, because its `LockOptions` belong to the Web Locks API.
            lib: ['esnext'],
            target: 'es2022',
            strict: true,
            skipLibCheck: true,
            types: ['node'],
            paths: Object.fromEntries(entries.map((entry) => [entry.specifier, [join(TYPES, `${entry.name}.d.ts`)]])),
          },
          files: [types],
        },
      },
      apiReport: { enabled: true, reportFileName: `${name}.api.md`, reportFolder, reportTempFolder: temp },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      messages: MESSAGES,
    },
  });
}
