import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { HistoryEvent } from '../event.js';

/** All events that the processes of a run have recorded, in the order of time. */
export async function readEvents(folder: string): Promise<HistoryEvent[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = await Promise.all(files.map(({ name }) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap(parse).sort((a, b) => a.at - b.at);
}

function parse(text: string): HistoryEvent[] {
  // A kill may have cut off the text after the last line break.
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as HistoryEvent);
}
