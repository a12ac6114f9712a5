#!/usr/bin/env node
/** Loads the built package as its users do: by its name, through its `exports`. */
import { existsSync } from 'node:fs';

const NAME = 'nestjs-distribute-lock';
const EXPECTED = ['LockModule', 'LockService', 'DistributeLock', 'isLockError'];

const entry = import.meta.resolve(NAME);
if (!entry.endsWith('/dist/index.js')) throw new Error(`${NAME} leads to ${entry}, not to what was built`);
if (!existsSync(new URL('./index.d.ts', entry))) throw new Error(`${NAME} has no types beside ${entry}`);

const exported = await import(NAME);
const missing = EXPECTED.filter((name) => exported[name] === undefined);
if (missing.length > 0) throw new Error(`${NAME} does not export ${missing.join(', ')}`);
console.log(`${NAME}: ${Object.keys(exported).length} exports load from dist`);
