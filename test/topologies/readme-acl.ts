import { readFileSync } from 'node:fs';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const PASSWORD = 'a-secret';

/** A user with only the rights that the README lists. */
export const user = { username: 'locks', password: PASSWORD };

/** The arguments of `ACL SETUSER` in the README. */
export function readmeAcl(topology: string): string[] {
  const line = new RegExp(`^# ${topology}\\n((?:[^\\n]*\\\\\\n)*[^\\n]*)`, 'm').exec(README)?.[1];
  if (line === undefined) throw new Error(`The README contains no ACL for ${topology}`);
  const [acl, setUser, ...rules] = line.replaceAll('\\\n', ' ').replace('PASSWORD', PASSWORD).split(/\s+/);
  if (acl !== 'ACL' || setUser !== 'SETUSER') throw new Error(`The README contains no ACL SETUSER for ${topology}`);
  return rules;
}

/** One of several applications on a server. */
export interface Tenant {
  readonly name: string;
  readonly prefix: string;
  /** The prefix that its client adds to every name. */
  readonly keyPrefix?: string;
}

export const tenantUser = ({ name }: Tenant): { username: string; password: string } => ({
  username: name,
  password: PASSWORD,
});

/** The same arguments for the tenant, with its name and prefix instead of the default ones. */
export function tenantAcl(topology: string, { name, prefix, keyPrefix = '' }: Tenant): string[] {
  const [, ...rules] = readmeAcl(topology);
  const named = rules.map((rule) => {
    if (rule.startsWith('~')) return `~${keyPrefix}${rule.slice(1).replace('lock:*', `${prefix}*`)}`;
    if (rule.startsWith('&')) return rule.replace(':lock:*', `:${keyPrefix}${prefix}*`);
    return rule;
  });
  return [name, ...named];
}
