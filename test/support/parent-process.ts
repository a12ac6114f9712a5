import type { Messages } from './second-process.js';

/** The counterpart of `startProcess()` in the child script. The child ends when its parent ends. */
export function parentProcess<Received extends Messages = Messages, Sent extends Messages = Messages>(): ParentProcess<
  Received,
  Sent
> {
  process.once('disconnect', () => process.exit());
  return new ParentProcess();
}

export class ParentProcess<Received extends Messages, Sent extends Messages> {
  send<Name extends keyof Sent & string>(name: Name, data: Sent[Name]): void {
    process.send?.({ name, data });
  }

  on<Name extends keyof Received & string>(name: Name, listener: (data: Received[Name]) => void): void {
    process.on('message', (message: { name: string; data: unknown }) => {
      if (message.name === name) listener(message.data as Received[Name]);
    });
  }
}
