import { HttpStatus, PreconditionFailedException } from '@nestjs/common';

/** A write had a smaller fencing token than an accepted one: its lease ended before. */
export class StaleFencingTokenException extends PreconditionFailedException {
  constructor(fencingToken: number, largestSeen: number) {
    super({
      statusCode: HttpStatus.PRECONDITION_FAILED,
      code: 'STALE_FENCING_TOKEN',
      message: 'The write was refused: a later holder of the lock has written already.',
      fencingToken,
      largestSeen,
    });
  }
}
