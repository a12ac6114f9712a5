import type { Messages } from './second-process.js';

/** The other end of `startProcess()`, for the script that runs there; it ends when the parent is gone. */
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
