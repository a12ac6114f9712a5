/** `node --import .../typescript-loader.mjs script.ts` runs TypeScript as Jest does, so no build is needed before. */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
