import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { DIST, entries, LIBRARY } from './library.mjs';

const TYPES = join(DIST, 'esm');
const REPORTS = join(LIBRARY, 'etc');
/** The report of the main entry; the other entries are published beside it. */
const MAIN = 'index';

/**
 * The types of each entry match its report in `etc`, and every type that users can reach has a name that they can import.
 * With `write`, the reports are updated.
 */
export function api(_packed, write = false) {
  mkdirSync(REPORTS, { recursive: true });
  const temp = mkdtempSync(join(tmpdir(), 'api-'));
  try {
    return `as reported: ${entries.map((entry) => check(entry, temp, write)).join(', ')}`;
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}

function check({ specifier, name }, temp, write) {
  const wrong = [];
  const { succeeded, apiReportChanged } = Extractor.invoke(config(name, temp), {
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
  const outdated = `${specifier} differs from etc/${name}.api.md. If the change is intended, run npm run api and commit the report`;
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

function config(name, temp) {
  const quiet = { logLevel: 'none' };
  const fault = { logLevel: 'error' };
  return ExtractorConfig.prepare({
    packageJsonFullPath: join(LIBRARY, 'package.json'),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: LIBRARY,
      mainEntryPointFilePath: join(TYPES, `${name}.d.ts`),
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
          },
          files: [join(TYPES, `${name}.d.ts`)],
        },
      },
      apiReport: { enabled: true, reportFileName: `${name}.api.md`, reportFolder: REPORTS, reportTempFolder: temp },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      messages: {
        compilerMessageReporting: { default: fault },
        extractorMessageReporting: {
          default: quiet,
          'ae-forgotten-export': fault,
          'ae-incompatible-release-tags': fault,
          'ae-missing-release-tag': fault,
        },
        tsdocMessageReporting: { default: quiet },
      },
    },
  });
}
