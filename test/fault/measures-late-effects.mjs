/** Measures against commands and replies that take effect late, and against early undos; see measures-p8-to-p17.mjs. */
const downgrading = (title) => ['engine/downgrading', title];

export const measuresOfLateEffects = [
  {
    promise: 'P1',
    what: 'a grant whose downgrade may still be executed is not handed over in memory',
    file: 'engine/releasing.ts',
    measure: 'lease.leaving === grant || ',
    without: '',
    test: downgrading('does not hand its grant over to the next caller'),
  },
  {
    promise: 'P2',
    what: 'a reply does not revive a reader whose own time has passed',
    file: 'engine/lease/watchdog.ts',
    measure: 'grant.holder?.shared?.endOverdue(grant, now, 0);',
    without: '',
    test: ['engine/each-reader', 'loses a reader for good whose time passed before the reply to a renewal'],
  },
  {
    promise: 'P6',
    what: 'an attempt that was queued once is undone, although its last command did not wait',
    file: 'engine/attempts.ts',
    measure: ' && !attempt.queued',
    without: '',
    test: ['engine/left-place', 'leaves the queue although its last command does not wait'],
  },
  {
    promise: 'P6',
    what: '... and so is one whose place only a release has requested',
    file: 'engine/attempts.ts',
    measure: ' && !attempt.placed',
    without: '',
    test: ['engine/left-place', 'leaves the queue although no answer has reported the place'],
  },
  {
    promise: 'P17',
    what: 'a release that is executed after the end of its lease reports no loss',
    file: 'engine/releasing.ts',
    measure: ' && this.context.clock.now() < grant.validUntil',
    without: '',
    test: ['engine/late-release', 'is not lost, because it lasted as long as the work (exclusive)'],
  },
  {
    promise: 'P19',
    what: 'the token of a writer that became a reader is undone once more',
    file: 'engine/downgrading.ts',
    measure: 'abandoned.released(grant, grant.ttlMs);',
    without: '',
    test: downgrading('leaves no lock in the store when the command that acquired it is executed again'),
  },
  {
    promise: 'P22',
    what: 'a message about a waiting process does not undo a lease that a shutdown left in place',
    file: 'engine/messages.ts',
    measure: "type === 'granted' && state?.isReleasing(ownerToken) !== true",
    without: 'state?.isReleasing(ownerToken) !== true',
    test: ['engine/shutdown', 'stays locked although another process asks for it during the shutdown (exclusive)'],
  },
  {
    promise: 'P25',
    what: 'a key that is kept after its work is not undone early when its renewals get no reply',
    file: 'engine/lock-engine.ts',
    measure: 'if (keptForMs > 0 && isUnproven(loss))',
    without: 'if (keptForMs > Infinity && isUnproven(loss))',
    test: ['engine/min-hold', 'is not released before its time has passed: minHold'],
  },
];
