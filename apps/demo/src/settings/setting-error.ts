/** An invalid environment variable; the message is for the user who set it. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}
