import { readFileSync } from 'node:fs';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const PASSWORD = 'a-secret';

/** Whoever has no more rights than the README asks for. */
export const user = { username: 'locks', password: PASSWORD };

/** The words for `ACL SETUSER` that the README tells people to write, as they stand there. */
export function readmeAcl(topology: string): string[] {
  const line = new RegExp(`^# ${topology}\\n((?:[^\\n]*\\\\\\n)*[^\\n]*)`, 'm').exec(README)?.[1];
  if (line === undefined) throw new Error(`The README prints no ACL for ${topology}`);
  const [acl, setUser, ...rules] = line.replaceAll('\\\n', ' ').replace('PASSWORD', PASSWORD).split(/\s+/);
  if (acl !== 'ACL' || setUser !== 'SETUSER') throw new Error(`The README prints no ACL SETUSER for ${topology}`);
  return rules;
}
