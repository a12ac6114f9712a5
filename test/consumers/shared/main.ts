import { scenario } from './scenario.js';

scenario().then(
  (told) => process.stdout.write(`${JSON.stringify(told)}\n`),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
