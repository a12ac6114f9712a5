/** A setting in the environment cannot be used; the message is for the person who set it. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}
