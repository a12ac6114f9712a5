/**
 * The allow-list of imports: any other import is an error. docs/internals contains the reasons.
 * The paths are not anchored at the repository, so that the same rules apply to test/support/boundary-canary.
 */
const SRC = '(^|/)distribute-lock/src';

/** From top to bottom: a row imports rows below it, never one above. */
const ROWS = [
  ...['testing', 'index.ts', 'nest/module', 'nest/decorators', 'nest/aspect', 'nest/lock'],
  ...['core.ts', 'common.ts', 'locks', 'keys', 'engine', 'engine/lease', 'store'],
];
/** Optional entries and the packages that only they import. No other row imports them, and they do not import each other. */
const OPTIONAL = {
  contract: [],
  dashboard: ['@nestjs/(common|core)'],
  metrics: [],
  otel: ['@opentelemetry/api'],
  prometheus: ['prom-client'],
  swagger: ['@nestjs'],
  terminus: ['@nestjs'],
};
/** Shared by optional entries. */
const SHARED = ['metrics'];
/** Importable from any row; they import only each other. */
const GROUND = ['errors.ts', 'channels.ts', 'events.ts', 'options', 'runtime'];
/** `keys` must not import the modules that use keys. */
const NOT_FOR_KEYS = ['engine', 'engine/lease', 'store', 'runtime', 'channels.ts', 'events.ts'];

/** A folder, a file, or the files of a folder itself (`nest/lock`: `nest/lock.service.ts` and `nest/tokens.ts`; `engine`). */
const place = (name) => {
  if (name.endsWith('.ts')) return `${SRC}/${name.replace('.', '\\.')}$`;
  if (name === 'engine') return `${SRC}/engine/(?!lease/)`;
  return name === 'nest/lock' ? `${SRC}/nest/[^/]+\\.ts$` : `${SRC}/${name}/`;
};
const packages = (...names) => `(^|/)node_modules/(@types/)?(${names.join('|')})/`;

/** Production code; specs have a separate rule, and no file imports them. */
const library = (from, to) => ({
  from: { path: from, pathNot: '\\.spec\\.ts$' },
  to: { pathNot: '\\.spec\\.ts$', ...to },
});

const rows = ROWS.map((name, at) => {
  const below = [...ROWS.slice(at), ...GROUND];
  const allowed = name === 'keys' ? below.filter((other) => !NOT_FOR_KEYS.includes(other)) : below;
  // only the store uses scripts
  const lua = name === 'store' ? [] : [place('store/generated')];
  return library(place(name), { path: allowed.map(place), pathNot: ['\\.spec\\.ts$', ...lua] });
});

const optional = Object.entries(OPTIONAL).flatMap(([name, names]) => {
  const files = [name, ...SHARED, ...ROWS.filter((row) => row !== 'testing'), ...GROUND].map(place);
  const own = library(place(name), { path: files });
  return names.length > 0 ? [own, library(place(name), { path: packages(...names) })] : [own];
});

const NEST = ['nest', 'testing'].map(place);
const RXJS = ['nest/aspect', 'testing'].map(place);
const IOREDIS = ['store/redis', 'store/quorum', 'locks'].map(place);

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'In tests and tools, types may refer to each other; code that runs may not.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-cycles-of-types',
      comment: 'In the library, no file needs a type of a file that needs it.',
      severity: 'error',
      from: { path: `${SRC}/` },
      to: { circular: true },
    },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'declare-what-you-use',
      comment: 'The published package contains only the dependencies in its package.json.',
      severity: 'error',
      from: { path: '^libs/[^/]+/src/', pathNot: '\\.spec\\.ts$' },
      // An optional peer has both types.
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm', 'npm-peer'] },
    },
  ],
  allowedSeverity: 'error',
  allowed: [
    ...rows,
    ...optional,
    library(GROUND.map(place), { path: GROUND.map(place) }),
    library(`${SRC}/`, { dependencyTypes: ['core'] }),
    library(NEST, { path: packages('@nestjs/(common|core|microservices|websockets)', 'reflect-metadata') }),
    library(RXJS, { path: packages('rxjs') }),
    library(IOREDIS, { path: packages('ioredis') }), // no other folder depends on the client
    library(place('options'), { path: packages('ms') }),
    { from: { path: `${SRC}/.*\\.spec\\.ts$` }, to: { path: [`${SRC}/`, '^test/support/', packages('.*')] } },
    { from: { path: `${SRC}/.*\\.spec\\.ts$` }, to: { dependencyTypes: ['core'] } },
    { from: { path: '^apps/([^/]+)/' }, to: { path: ['^apps/$1/', packages('.*')] } },
    { from: { path: '^apps/' }, to: { dependencyTypes: ['core'] } },
    // The program is bundled, so it may use the names of keys and the checks of the store.
    { from: { path: '^libs/cli/' }, to: { path: ['^libs/cli/', place('core.ts'), packages('ioredis')] } },
    { from: { path: '^libs/cli/' }, to: { dependencyTypes: ['core'] } },
    {
      from: { path: '^libs/cli/src/(doctor|commands)/' },
      to: { path: [place('store'), place('runtime/owner-token.ts')] },
    },
    // by its name, like its users
    {
      from: { path: '^apps/' },
      to: { path: `${SRC}/((testing|${Object.keys(OPTIONAL).join('|')})/)?index\\.ts$`, dependencyTypesNot: ['local'] },
    },
    { from: { path: '^(test|tools|bench|docs/\\.vitepress)/', pathNot: 'boundary-canary' }, to: {} },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@nestjs-distribute-lock/source', 'import', 'node', 'default', 'types'],
    },
  },
};
