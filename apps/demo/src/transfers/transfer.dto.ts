import { ApiProperty } from '@nestjs/swagger';
import { IsInt } from 'class-validator';

import { WorkDone } from '../work/work-done.js';
import { WorkDto } from '../work/work.dto.js';

/** Body of `POST /transfers`. */
export class TransferDto extends WorkDto {
  @ApiProperty({ type: Number, example: 1 })
  @IsInt()
  from!: number;

  @ApiProperty({ type: Number, example: 2 })
  @IsInt()
  to!: number;
}

/** Answer of `POST /transfers`. */
export class TransferDone extends WorkDone {
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'number' },
    description: 'The number of each lock, by its key: what a write to each account would carry',
    example: { 'account:1': 1763740000000000, 'account:2': 1763740000000001 },
  })
  readonly fencingTokens!: Readonly<Record<string, number>>;
}
