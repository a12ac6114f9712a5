/** Nest shows this text at boot when nothing can be injected, so it says what to do. */
const MISSING_MODULE = 'LockModule.forRoot() is missing: @DistributeLock';

/** Token of the aspect, and the property in which Nest leaves it on every instance that has a locked method. */
export const ASPECT = Symbol.for(MISSING_MODULE);

/** Token of the application's connections, the first thing that the aspect asks for. */
export const LOCK_CONNECTIONS = Symbol.for(`${MISSING_MODULE} needs its connections`);

/** Token of what turns lock errors into those of a transport. */
export const TRANSPORT_ERRORS = Symbol.for(`${MISSING_MODULE} needs its transport errors`);

/** What the user gave to `forRoot` or made in `forRootAsync`. */
export const LOCK_MODULE_OPTIONS = Symbol.for('nestjs-distribute-lock: module options');

/** The same, checked and with every default filled in. */
export const LOCK_SETTINGS = Symbol.for('nestjs-distribute-lock: settings');

/** The lock cores of the application by connection name. */
export const LOCK_CORES = Symbol.for('nestjs-distribute-lock: lock cores');

/**
 * What makes the locks of an application out of its connections. In a test `overrideProvider(LOCK_RUNTIME).useValue(locks)` puts
 * `TestLocks` in its place, whatever the application's own module says.
 * @public
 */
export const LOCK_RUNTIME = Symbol.for('nestjs-distribute-lock: runtime');
