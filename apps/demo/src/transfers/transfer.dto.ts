import { ApiProperty } from '@nestjs/swagger';
import { IsInt, Max, Min } from 'class-validator';

import { LARGEST_ID } from '../work/parse-id.pipe.js';
import { WorkDone } from '../work/work-done.js';
import { WorkDto } from '../work/work.dto.js';

/** Body of `POST /transfers`. */
export class TransferDto extends WorkDto {
  @ApiProperty({ type: Number, minimum: 1, maximum: LARGEST_ID, example: 1 })
  @IsInt()
  @Min(1)
  @Max(LARGEST_ID)
  from!: number;

  @ApiProperty({ type: Number, minimum: 1, maximum: LARGEST_ID, example: 2 })
  @IsInt()
  @Min(1)
  @Max(LARGEST_ID)
  to!: number;
}

/** Response of `POST /transfers`. */
export class TransferDone extends WorkDone {
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'number' },
    description: 'The fencing token of each lock, by its key; a write to each account would send it',
    example: { 'account:1': 1763740000000000, 'account:2': 1763740000000001 },
  })
  readonly fencingTokens!: Readonly<Record<string, number>>;
}
