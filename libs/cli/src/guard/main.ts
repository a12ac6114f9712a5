/** The guard process of `run`: reads the lines of the wrapper from standard input, and ends the command when they stop. */
import { DeadMan } from './dead-man.js';

const switchOff = (): void => process.exit(0);
const deadMan = new DeadMan(switchOff);

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text: string) => {
  const lines = (rest + text).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) deadMan.line(line);
});
process.stdin.once('end', () => deadMan.abandoned());
process.stdin.once('error', () => deadMan.abandoned());
// Its own session gets no signal of a terminal. These come from a command that signals every process.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGTSTP'] as const)
  process.on(name, () => undefined);
process.stdout.on('error', () => undefined);
process.stdout.write('ready\n');
