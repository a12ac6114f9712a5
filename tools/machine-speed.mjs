#!/usr/bin/env node
/**
 * Prints the milliseconds of a fixed piece of work, so that the seconds of two runs of CI can be compared.
 *   usage: machine-speed.mjs
 */
import { createHash } from 'node:crypto';

const block = Buffer.alloc(1024 * 1024);
const hash = createHash('sha256');
const startedAt = performance.now();
for (let i = 0; i < 256; i += 1) hash.update(block);
hash.digest();
console.log(Math.round(performance.now() - startedAt));
