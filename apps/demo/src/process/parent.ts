/** The message of a forked process of the demo to its parent. */
export type ChildReport<Ready> =
  { readonly type: 'ready'; readonly ready: Ready } | { readonly type: 'failed'; readonly message: string };

/** Whether this process was forked. A process that was started by hand has no channel. */
export function hasParent(): boolean {
  return process.send !== undefined;
}

/** Sends the message to the parent, and waits until it is sent. Does nothing without a parent. */
export async function tellParent<Ready>(report: ChildReport<Ready>): Promise<void> {
  if (!process.connected) return;
  // A missing parent is not an error here; `whenParentIsGone` handles the end of the channel.
  await new Promise<void>((sent) => process.send?.(report, undefined, undefined, () => sent()));
}

/** Calls `then` once the parent has ended; the channel closes even after a SIGKILL. */
export function whenParentIsGone(then: () => void): void {
  if (!hasParent()) return;
  if (process.connected) process.once('disconnect', then);
  else then(); // it ended while this process was loading its modules
}
