import { BadRequestException, GoneException, HttpStatus } from '@nestjs/common';
import { isLockError } from 'nestjs-distribute-lock';

/** The ticket of a reservation was used, has expired, or its seat was released. */
class TicketRefusedException extends GoneException {
  constructor(reason: string) {
    super({
      statusCode: HttpStatus.GONE,
      code: 'RESERVATION_OVER',
      message: 'The ticket no longer holds a seat. Reserve the seat again.',
      reason,
    });
  }
}

/** Replaces the error of a call with a ticket by an exception for its client, without key and ticket. */
export function refuseTicket(error: unknown): never {
  if (isLockError(error, 'LEASE_LOST')) throw new TicketRefusedException(error.reason);
  if (isLockError(error, 'LOCK_USAGE'))
    throw new BadRequestException('The ticket has another form, or is not valid here.');
  throw error;
}
