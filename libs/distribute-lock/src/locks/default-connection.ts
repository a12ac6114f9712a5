/** The name of the connection that has no other name. */
export const DEFAULT_CONNECTION = 'default';
