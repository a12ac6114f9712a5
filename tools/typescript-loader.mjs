/** `node --import .../typescript-loader.mjs script.ts` runs TypeScript like Jest, without a build. */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
