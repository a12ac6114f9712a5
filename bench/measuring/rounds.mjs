/**
 * Measures every subject once a round, one after the other, so that whatever else the machine does meets all of them.
 *
 * @param measure - answers the figures of one run, by name
 * @returns the figures of all rounds, by subject
 */
export async function interleaved(rounds, subjects, measure) {
  const runs = new Map(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of subjects) {
      runs.get(subject).push(await measure(subject, round));
    }
  }
  return runs;
}
