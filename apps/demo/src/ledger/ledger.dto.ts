import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsInt, IsOptional, Max, Min } from 'class-validator';

const LARGEST_AMOUNT = 1000;

/** Body of `POST /fenced-write`. */
export class FencedWriteDto {
  @ApiProperty({ type: Number, minimum: 1, maximum: LARGEST_AMOUNT, example: 10 })
  @IsInt()
  @Min(1)
  @Max(LARGEST_AMOUNT)
  amount!: number;

  @ApiPropertyOptional({ type: Boolean, description: 'Simulates a holder that is stopped beyond the end of its lease' })
  @IsOptional()
  @IsBoolean()
  staleToken?: boolean;
}

/** Response of `POST /fenced-write`. */
export class FencedWriteDone {
  @ApiProperty({ type: String, example: 'A' })
  readonly instance!: string;

  @ApiProperty({ type: Number })
  readonly fencingToken!: number;

  @ApiProperty({ type: Number })
  readonly balance!: number;
}
