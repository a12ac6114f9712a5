import type { Redis } from 'ioredis';

/** The facts of one section of INFO. */
export type Info = ReadonlyMap<string, string>;

export function parseInfo(text: string): Info {
  const lines = text.split('\r\n').filter((line) => line.includes(':') && !line.startsWith('#'));
  return new Map(lines.map((line) => line.split(/:(.*)/s, 2) as [string, string]));
}

export const readInfo = async (client: Redis, section: string): Promise<Info> => parseInfo(await client.info(section));

export const numberOf = (info: Info, name: string): number => Number(info.get(name) ?? NaN);
