/** What a forked process of the demo tells the one that started it. */
export type ChildReport<Ready> =
  { readonly type: 'ready'; readonly ready: Ready } | { readonly type: 'failed'; readonly message: string };

/** Whether this process was forked; one that was started by hand has no channel and looks after itself. */
export function hasParent(): boolean {
  return process.send !== undefined;
}

/** Tells the parent, and waits until the message has left. Without a parent it does nothing. */
export async function tellParent<Ready>(report: ChildReport<Ready>): Promise<void> {
  if (!process.connected) return;
  // A parent that has just gone is no error here: the channel's end is dealt with elsewhere.
  await new Promise<void>((sent) => process.send?.(report, undefined, undefined, () => sent()));
}

/** Calls `then` once the parent has gone, however it ended; the channel closes even after a SIGKILL. */
export function whenParentIsGone(then: () => void): void {
  if (!hasParent()) return;
  if (process.connected) process.once('disconnect', then);
  else then(); // it went while this process was loading its modules
}
