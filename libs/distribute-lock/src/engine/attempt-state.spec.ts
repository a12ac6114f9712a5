import { AttemptState } from './attempt-state.js';

class Request extends AttemptState {
  due(): void {}
}

/** Applies the changes in order. */
function after(...changes: readonly ((attempt: AttemptState) => void)[]): AttemptState {
  const attempt = new Request();
  for (const change of changes) change(attempt);
  return attempt;
}

const delayed = (attempt: AttemptState): void => attempt.wasDelayed();
const sent = (attempt: AttemptState): void => attempt.wasSent(1_000, 10);
const sentByRelease = (attempt: AttemptState): void => attempt.wasSentByRelease(1_000);
const commandEnded = (attempt: AttemptState): void => attempt.commandEnded();
const executed = (attempt: AttemptState): void => attempt.wasExecuted();
const refused = (attempt: AttemptState): void => attempt.wasRefused();
const placed = (attempt: AttemptState): void => attempt.wasPlaced();
const queued = (attempt: AttemptState): void => attempt.wasQueued();
const ended = (attempt: AttemptState): void => attempt.end();
const failed = (attempt: AttemptState): void => {
  attempt.lastError = new Error('no answer');
};

/** What an attempt knows of the store, as far as it is true. */
const FACTS = ['mayBeInStore', 'needsUndo', 'answered', 'mayBeQueued'] as const;

describe('An attempt', () => {
  it('has at most one command on its way', () => {
    expect(() => after(sent, sent)).toThrow('An attempt that is in flight cannot be sent.');
    expect(() => after(sentByRelease, sent)).toThrow('in flight cannot be sent');
    expect(() => after(sent, delayed)).toThrow('in flight cannot be delayed');
    expect(() => after(delayed, delayed)).toThrow('delayed cannot be delayed');
    expect(after(sent, commandEnded, commandEnded).sendable).toBe(true);
    expect(after(delayed, commandEnded).delayed).toBe(true);
  });

  it('is never sent again when it is over, but may still be answered', () => {
    expect(() => after(ended, sent)).toThrow('over cannot be sent');
    expect(() => after(ended, sentByRelease)).toThrow('over cannot be sent');
    expect(() => after(ended, delayed)).toThrow('over cannot be delayed');
    const late = after(sent, ended, commandEnded);
    expect([late.over, late.sendable]).toEqual([true, false]);
  });

  it('is sent again after each answer, and after a delay', () => {
    expect(after(delayed).delayed).toBe(true);
    expect(after(delayed, sent).delayed).toBe(false);
    expect(after(delayed, sent, commandEnded, queued, sent, commandEnded).sendable).toBe(true);
  });

  it.each([
    ['is new', after(), []],
    ['is delayed', after(delayed), []],
    ['is in flight', after(sent), ['needsUndo']],
    ['was not sent', after(sent, commandEnded), []],
    ['may have been executed', after(sent, commandEnded, executed), ['mayBeInStore', 'needsUndo']],
    ['was refused', after(sent, commandEnded, refused), ['mayBeInStore', 'needsUndo', 'answered']],
    ['was named by a release that was not sent', after(sentByRelease, commandEnded), ['answered']],
    [
      'was named by a release without an answer',
      after(sentByRelease, commandEnded, executed),
      ['mayBeInStore', 'needsUndo', 'answered'],
    ],
    [
      'was named by a release after a command without an answer',
      after(sent, commandEnded, executed, sentByRelease, commandEnded),
      ['mayBeInStore', 'needsUndo', 'answered'],
    ],
    ['was placed by a release', after(sentByRelease, commandEnded, placed), FACTS],
    ['was placed, and refused later', after(sentByRelease, commandEnded, placed, sent, commandEnded, refused), FACTS],
    ['was queued, and refused later', after(sent, commandEnded, queued, sent, commandEnded, refused), FACTS],
  ])('knows what may be in the store when it %s', (_, attempt, expected) => {
    expect(FACTS.filter((fact) => attempt[fact])).toEqual(expected);
  });

  it('stays queued whatever a later release or answer says', () => {
    const { queued: stays } = after(sent, commandEnded, queued, sentByRelease, commandEnded, placed, executed, refused);
    expect(stays).toBe(true);
    expect(after(sentByRelease, commandEnded, placed).queued).toBe(false);
  });

  it('records how its latest command gets the lock, if it does', () => {
    const first = after();
    first.wasSent(1_000, 10);
    expect(first.path).toBeUndefined();
    commandEnded(first);
    queued(first);
    first.wasSent(1_000, 20);
    expect(first.path).toBe('heartbeat');
    commandEnded(first);
    first.holderEndsAt = 25;
    first.wasSent(1_000, 30);
    expect(first.path).toBe('expiry');
    commandEnded(first);
    first.wasOffered();
    first.wasSent(1_000, 40);
    expect([first.path, first.offered]).toEqual(['message', false]);
  });

  it('awaits a message until an offer comes, and an offer until a command follows', () => {
    const waiting = after(sent, commandEnded, queued);
    waiting.awaitMessage(true);
    expect([waiting.awaitsMessage, waiting.offered]).toEqual([true, false]);
    waiting.wasOffered();
    waiting.awaitMessage(true);
    expect([waiting.awaitsMessage, waiting.offered]).toEqual([false, true]);
    sent(waiting);
    expect([waiting.awaitsMessage, waiting.offered]).toEqual([false, false]);
    commandEnded(waiting);
    waiting.awaitMessage(true);
    sent(waiting);
    expect(waiting.awaitsMessage).toBe(true);
    waiting.wasGrantedLate();
    expect([waiting.awaitsMessage, waiting.lateGrants]).toEqual([false, 1]);
  });

  it('knows a holder only from an answer', () => {
    expect(after().seesHolder).toBe(false);
    expect(after(sent, commandEnded, executed).seesHolder).toBe(false);
    expect(after(sent, commandEnded, refused).seesHolder).toBe(true);
    expect(after(sent, commandEnded, refused, sent).seesHolder).toBe(false);
    expect(after(sent, commandEnded, refused, delayed).seesHolder).toBe(false);
    expect(after(sent, commandEnded, refused, failed).seesHolder).toBe(false);
    expect(after(sent, commandEnded, refused, failed, refused).seesHolder).toBe(true);
    expect(after(sent, commandEnded, queued, (attempt) => attempt.wasOffered()).seesHolder).toBe(false);
  });

  it('no longer speaks for all when it is queued', () => {
    const speaker = after(sent, commandEnded);
    speaker.speaksForAll = true;
    queued(speaker);
    expect(speaker.speaksForAll).toBe(false);
  });
});
