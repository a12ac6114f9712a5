import { SettingError } from './setting-error.js';

/** The name and the range of a numeric setting. */
export interface WholeNumberSetting {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly otherwise: number;
}

/** Reads a whole number from the environment; unset and empty mean `otherwise`. */
export function wholeNumber(env: NodeJS.ProcessEnv, { name, least, most, otherwise }: WholeNumberSetting): number {
  const text = env[name] ?? '';
  if (text === '') return otherwise;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw new SettingError(
    `${name} is ${JSON.stringify(text.slice(0, 40))}, but it must be a whole number from ${least} to ${most}.`,
  );
}
