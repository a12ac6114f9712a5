/** Nest shows this text at start-up when the module is missing. */
const MISSING_MODULE = 'LockModule.forRoot() is missing (in a test LockTestingModule.forRoot()): @DistributeLock';

/** Token of the aspect, and the property under which Nest injects it into every instance with a locked method. */
export const ASPECT = Symbol.for(MISSING_MODULE);

/** Token of the application's connections, the first dependency of the aspect. */
export const LOCK_CONNECTIONS = Symbol.for(`${MISSING_MODULE} needs its connections`);

/** Token of the mapper from lock errors to exceptions of a transport. */
export const TRANSPORT_ERRORS = Symbol.for(`${MISSING_MODULE} needs its transport errors`);

/** Token of the constructor parameter of `LockService`, which only the module can provide. */
export const LOCK_ENGINE = Symbol.for(`${MISSING_MODULE} needs its LockService`);

/** The options of `forRoot` or `forRootAsync`, as given. */
export const LOCK_MODULE_OPTIONS = Symbol.for('nestjs-distribute-lock: module options');

/** The checked options with all defaults. */
export const LOCK_SETTINGS = Symbol.for('nestjs-distribute-lock: settings');

/** The lock engines of the application by connection name. */
export const LOCK_ENGINES = Symbol.for('nestjs-distribute-lock: lock engines');

/**
 * Token of the factory that creates locks from connections. In a test `overrideProvider(LOCK_RUNTIME).useValue(locks)` replaces it
 * with `TestLocks`, whatever options the application's module has.
 * @public
 */
export const LOCK_RUNTIME = Symbol.for('nestjs-distribute-lock: runtime');
