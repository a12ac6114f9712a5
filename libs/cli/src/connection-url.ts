import type { ClusterConnectionOptions } from 'nestjs-distribute-lock/core';
import type { RedisOptions } from 'ioredis';

import { UsageError } from './parse.js';

/** What `--url` can name: one server, a primary behind Sentinel, a Cluster, or the nodes of a quorum. */
export type Place = string | RedisOptions | ClusterConnectionOptions | readonly string[];

const WAYS =
  'redis://HOST:PORT, rediss:// for TLS, redis+cluster://HOST:PORT,HOST:PORT, redis+sentinel://HOST:PORT,HOST:PORT/NAME, or three redis:// URLs separated by commas for a quorum';
const TOPOLOGY_URL = /^(rediss?)\+(cluster|sentinel):\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^/?#]*))?(?:\/(\d+))?$/;
const DEFAULT_PORTS = { cluster: 6_379, sentinel: 26_379 } as const;

/**
 * The servers that a URL names. A message never contains the URL, because it may contain a password.
 * @throws UsageError when the text is no such URL
 */
export function placeOf(url: string): Place {
  const members = TOPOLOGY_URL.exec(url);
  if (members !== null) return membersOf(members);
  const urls = url.split(/,(?=rediss?:\/\/)/);
  if (!urls.every(isServer)) throw new UsageError(`The Redis URL is not valid: it must be ${WAYS}.`);
  return urls.length === 1 ? url : urls;
}

const isServer = (url: string): boolean => {
  if (!/^rediss?:\/\/./.test(url) || !URL.canParse(url)) return false;
  decoded(url);
  // `redis:///0` leads to a server of this host, which is a mistake; several hosts need another scheme.
  return /^[^,]+$/.test(new URL(url).hostname);
};

function membersOf([, scheme, kind, login, hosts, name, db]: readonly string[]): Place {
  const topology = kind as 'cluster' | 'sentinel';
  const nodes = hosts.split(',').map((host) => nodeOf(host, DEFAULT_PORTS[topology]));
  const common: RedisOptions = { ...credentialsOf(login), ...(scheme === 'rediss' ? { tls: {} } : {}) };
  if (topology === 'cluster') return { cluster: nodes, options: { redisOptions: common } };
  if (name === undefined || name === '') {
    throw new UsageError('The Redis URL names no primary: write redis+sentinel://HOST:PORT,HOST:PORT/NAME.');
  }
  const options = { ...common, sentinels: nodes, name: decoded(name) };
  return {
    ...options,
    ...(db === undefined ? {} : { db: Number(db) }),
    ...(scheme === 'rediss' ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
  };
}

function nodeOf(text: string, defaultPort: number): { host: string; port: number } {
  const [, host, port = String(defaultPort)] = /^(\[[^\]]+\]|[^:\s]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535) {
    throw new UsageError(`The Redis URL names the server "${text}", but it must be HOST:PORT.`);
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new UsageError('The Redis URL has a "%" that begins no escape: write %25 for it.');
  }
}

function credentialsOf(login = ''): Pick<RedisOptions, 'username' | 'password'> {
  if (login === '') return {};
  const [username, password] = login.split(/:(.*)/s, 2).map(decoded);
  return { ...(username === '' ? {} : { username }), ...(password === undefined ? {} : { password }) };
}
