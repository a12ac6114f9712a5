import type { TokenKind } from '../runtime/owner-token.js';
import type { LockKind } from '../store/lock-store.js';
import { exclusive } from './exclusive.js';
import type { Kind } from './kind.js';
import { semaphore } from './semaphore.js';
import { reading } from './read.js';

/** Every kind of lock. A new kind is added here. */
export const KINDS: Readonly<Record<TokenKind, Kind>> = { exclusive, read: reading, semaphore };

const byOption = new Map(Object.values(KINDS).flatMap((kind) => kind.options.map((option) => [option, kind] as const)));

/** The kind that implements an option: a write lock is an exclusive lock. */
export const kindOfOption = (option: LockKind): Kind => byOption.get(option)!;
