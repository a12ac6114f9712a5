/**
 * The names of the presets in option `presets` of `LockModule`. Without a declaration every name compiles, and the start checks it.
 *
 * @example
 * ```ts
 * declare module 'nestjs-distribute-lock' {
 *   interface LockPresets {
 *     checkout: true;
 *   }
 * }
 * ```
 * @public
 */
export interface LockPresets {}

/** The name of a preset. @public */
export type LockPresetName = [keyof LockPresets] extends [never] ? string : Extract<keyof LockPresets, string>;
