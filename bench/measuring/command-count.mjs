/**
 * The number of commands that the clients of a lock have sent so far.
 *
 * `INFO commandstats` and `total_commands_processed` also count commands called by scripts. So each adapter names the
 * commands that its client sends, and that none of its scripts calls.
 */
export async function commandCount(redis, sends) {
  const info = await redis.info('commandstats');
  const calls = new Map(Array.from(info.matchAll(/cmdstat_([^:]+):calls=(\d+)/g), ([, name, n]) => [name, Number(n)]));
  return sends.reduce((sum, name) => sum + (calls.get(name) ?? 0), 0);
}
