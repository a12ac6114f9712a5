/**
 * Measures every subject once per round, one after the other, so that other load on the machine affects all of them. Every second round
 * has the reverse order, so that no subject always follows the same one.
 *
 * @param measure - returns the figures of one run, by name
 * @returns the figures of all rounds, by subject
 */
export async function interleaved(rounds, subjects, measure) {
  const runs = new Map(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      runs.get(subject).push(await measure(subject, round));
    }
  }
  return runs;
}
