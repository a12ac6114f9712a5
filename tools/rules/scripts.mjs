/** The scripts by the names that they have in Redis, with the rule of each. A short path in Lua begins that of `lock`. */
export const SCRIPTS = {
  'check-inbox': 'runCheckInbox',
  'delete-foreign': 'runDeleteForeign',
  lock: 'runOtherLocks',
  'mark-counter': 'runMarkCounter',
  'mark-ticket': 'runMarkTicket',
  members: 'runMembers',
  'multi-key': 'runMultiKey',
  quorum: 'runQuorumStep',
  readwrite: 'runReadWrites',
  semaphore: 'runSemaphores',
};
