import { HttpStatus, PreconditionFailedException } from '@nestjs/common';

/** A write came with a smaller fencing token than one that was accepted before: its lease ended long ago. */
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
