import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';

import { WorkDto } from '../work/work.dto.js';

/** Body of `POST /orders/:id/settle`. */
export class SettleOrderDto extends WorkDto {
  @ApiPropertyOptional({ type: Boolean, description: 'Let the work fail after it has been done' })
  @IsOptional()
  @IsBoolean()
  declined?: boolean;
}
