import { scenario } from './scenario.js';

scenario().then(
  (result) => process.stdout.write(`${JSON.stringify(result)}\n`),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
