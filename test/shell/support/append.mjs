/** `node append.mjs FILE`: appends its begin and its end, with some work in between. */
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const [file] = process.argv.slice(2);
appendFileSync(file, `begin ${process.pid}\n`);
await delay(20);
appendFileSync(file, `end ${process.pid}\n`);
