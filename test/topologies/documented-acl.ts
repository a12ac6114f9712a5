import { readFileSync } from 'node:fs';

const GUIDE = readFileSync(new URL('../../docs/guide/deployment.md', import.meta.url), 'utf8');
const PASSWORD = 'a-secret';

/** A user with only the rights that docs/guide/deployment.md lists. */
export const user = { username: 'locks', password: PASSWORD };

/** The arguments of `ACL SETUSER` in docs/guide/deployment.md. */
export function documentedAcl(topology: string): string[] {
  const line = new RegExp(`^# ${topology}\\n((?:[^\\n]*\\\\\\n)*[^\\n]*)`, 'm').exec(GUIDE)?.[1];
  if (line === undefined) throw new Error(`docs/guide/deployment.md contains no ACL for ${topology}`);
  const [acl, setUser, ...rules] = line.replaceAll('\\\n', ' ').replace('PASSWORD', PASSWORD).split(/\s+/);
  if (acl !== 'ACL' || setUser !== 'SETUSER')
    throw new Error(`docs/guide/deployment.md contains no ACL SETUSER for ${topology}`);
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
  const [, ...rules] = documentedAcl(topology);
  const named = rules.map((rule) => {
    return rule.replace('lock:*', `${keyPrefix}${prefix}*`);
  });
  return [name, ...named];
}
