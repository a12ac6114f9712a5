import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';

import { LONGEST_WORK_MS } from '../settings/demo-settings.js';

/** How long the request simulates work. */
export class WorkDto {
  @ApiPropertyOptional({ type: Number, minimum: 0, maximum: LONGEST_WORK_MS, example: 3000 })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(LONGEST_WORK_MS)
  workMs?: number;
}

/** The same for a query, where every value is text. */
export class WorkQuery {
  @ApiPropertyOptional({ type: Number, minimum: 0, maximum: LONGEST_WORK_MS, example: 3000 })
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(LONGEST_WORK_MS)
  workMs?: number;
}
