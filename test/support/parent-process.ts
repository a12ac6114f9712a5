import type { Messages } from './second-process.js';

/** The counterpart of `startProcess()` in the child script. The child ends when its parent ends. */
export function parentProcess<Heard extends Messages = Messages, Told extends Messages = Messages>(): ParentProcess<
  Heard,
  Told
> {
  process.once('disconnect', () => process.exit());
  return new ParentProcess();
}

export class ParentProcess<Heard extends Messages, Told extends Messages> {
  send<Name extends keyof Told & string>(name: Name, data: Told[Name]): void {
    process.send?.({ name, data });
  }

  on<Name extends keyof Heard & string>(name: Name, listener: (data: Heard[Name]) => void): void {
    process.on('message', (message: { name: string; data: unknown }) => {
      if (message.name === name) listener(message.data as Heard[Name]);
    });
  }
}
