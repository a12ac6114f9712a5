/** The monotonic clock of the machine, whose values are comparable between processes. */
export const nowUs = () => Number(process.hrtime.bigint()) / 1_000;

/** The round trip of the connection for the work under the lock. */
export async function roundTripUs({ work }) {
  const at = nowUs();
  await work.ping();
  return nowUs() - at;
}
