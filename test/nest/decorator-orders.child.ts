import { parentProcess } from '../support/parent-process.js';
import { combinations } from './decorators/combinations.js';
import { observe } from './decorators/observe.js';
import { startDatabase } from './support/database.js';

const log = { statements: [] as string[] };
const database = await startDatabase(() => log.statements);
const parent = parentProcess();
for (const names of combinations(30)) {
  const without = names.filter((name) => name !== 'lock');
  parent.send(names.join(), {
    locked: await observe(names, database, log),
    unlocked: await observe(without, database, log),
  });
}
