import { KeptKeys } from '../../libs/distribute-lock/src/engine/kept-leases.js';
import { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import { planOf } from '../../libs/distribute-lock/src/engine/lease/lifetime-plan.js';
import { patch, patchGetter, type Restore } from './patch.js';
import { MultiKeyCaller } from './multi-key-caller.js';

/** Whether no work has begun, because the multi-key call still waits for other keys. */
const waitsForKeys = ({ plan, call }: LeaseHandle): boolean => plan !== planOf(call.options);

/** Each removes one measure for keys that outlive their work, or that a multi-key call keeps before its work. */
export const KEEPING_MUTANTS: Readonly<Record<string, () => Restore>> = {
  'a lock that is released although it is left to its ttl': () => patch(KeptKeys, 'leaveToTtl', () => () => false),

  'several keys taken in the order in which they were given': () =>
    patch(
      MultiKeyCaller,
      'order',
      () =>
        function (this: { plan: { keys: readonly string[] } }) {
          return this.plan.keys;
        },
    ),

  'a key that is not renewed while another one is waited for': () =>
    patchGetter(
      LeaseHandle,
      'renew',
      (original) =>
        function (this: LeaseHandle) {
          return waitsForKeys(this) ? this.call.options.renew : original.call(this);
        },
    ),

  'a key that is kept although the other ones are not granted': () =>
    patch(
      LeaseHandle,
      'release',
      (original) =>
        function (this: LeaseHandle) {
          return waitsForKeys(this) ? Promise.resolve() : original.call(this);
        },
    ),

  'a key without any work that is left to its ttl': () =>
    patch(
      KeptKeys,
      'keeps',
      (original) =>
        function (this: KeptKeys, state: unknown, lease: LeaseHandle) {
          lease.plan = planOf(lease.call.options);
          return original.call(this, state, lease);
        },
    ),
};
