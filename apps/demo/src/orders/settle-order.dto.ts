import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';

import { WorkDto } from '../work/work.dto.js';

/** Body of `POST /orders/:id/settle`. */
export class SettleOrderDto extends WorkDto {
  @ApiPropertyOptional({ type: Boolean, description: 'Makes the work fail at its end' })
  @IsOptional()
  @IsBoolean()
  declined?: boolean;
}
