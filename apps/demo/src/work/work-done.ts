import { ApiProperty } from '@nestjs/swagger';

/** The result of work under a lock. */
export class WorkDone {
  @ApiProperty({ type: String, description: 'The process that did the work', example: 'A' })
  readonly instance!: string;

  @ApiProperty({ type: Number, description: 'Rises with every grant of the lock' })
  readonly fencingToken!: number;

  @ApiProperty({ type: Number, description: 'Milliseconds spent under the lock' })
  readonly heldMs!: number;
}
