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
