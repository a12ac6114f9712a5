#!/usr/bin/env node
/** `npm run api`: builds the library and writes its types into `libs/distribute-lock/etc`, for review. */
import { api } from './package/api.mjs';

await import('./build-library.mjs');
console.log(api(undefined, true));
