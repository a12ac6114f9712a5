import type { JobBoard, JobReport } from '../jobs/job-board.js';

/** The message of a forked process of the demo to its parent. */
export type ChildReport<Ready> =
  { readonly type: 'ready'; readonly ready: Ready } | { readonly type: 'failed'; readonly message: string };

/** The instances of the demo, as the starter knows them. */
export interface DemoState {
  readonly instances: readonly { readonly name: string; readonly url: string; readonly running: boolean }[];
  /** `private`: the starter started it, so the page may pause it. */
  readonly redis: 'private' | 'given' | 'memory';
  readonly redisPaused: boolean;
  /** Whether the instances share one process, so that none can be stopped alone. */
  readonly shared: boolean;
  readonly jobs: JobBoard;
}

/** What the page asks of the starter. It applies to processes that the starter started. */
export type ControlRequest =
  { readonly type: 'stop' | 'start' | 'restart'; readonly instance: string } | { readonly type: 'pause-redis' };

/** A message of an instance to the starter, beside the report that it is ready. */
export type ChildRequest = ControlRequest | { readonly type: 'job'; readonly report: JobReport };

/** Sends a request of the page, or a report about a job, to the starter. */
export function askParent(request: ChildRequest): void {
  if (process.connected) process.send?.(request);
}

/** Calls `changed` with each state that the starter sends. */
export function onDemoState(changed: (state: DemoState) => void): void {
  process.on('message', (message: { readonly state?: DemoState }) => {
    if (message.state !== undefined) changed(message.state);
  });
}

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
