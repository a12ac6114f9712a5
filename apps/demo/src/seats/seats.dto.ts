import { ApiProperty, ApiPropertyOptional, IntersectionType } from '@nestjs/swagger';
import { IsInt, IsNotEmpty, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

import { WorkDto } from '../work/work.dto.js';

const SHORTEST_HOLD_MS = 100;
const LONGEST_HOLD_MS = 3_600_000;
/** A ticket has at most this many characters. */
const LONGEST_TICKET = 200;

/** Body of `POST /seats/:seat/reserve`. */
export class ReserveDto {
  @ApiPropertyOptional({ type: Number, minimum: SHORTEST_HOLD_MS, maximum: LONGEST_HOLD_MS, example: 60_000 })
  @IsOptional()
  @IsInt()
  @Min(SHORTEST_HOLD_MS)
  @Max(LONGEST_HOLD_MS)
  holdMs?: number;
}

/** Response of `POST /seats/:seat/reserve`. */
export class Reservation {
  @ApiProperty({ type: String, description: 'A secret: with it, any instance confirms or cancels the reservation' })
  readonly ticket!: string;

  @ApiProperty({ type: String, format: 'date-time', description: 'The seat stays reserved until this time' })
  readonly until!: string;
}

/** Body of `POST /seats/cancel`. */
export class TicketDto {
  @ApiProperty({ type: String, maxLength: LONGEST_TICKET })
  @IsString()
  @IsNotEmpty()
  @MaxLength(LONGEST_TICKET)
  ticket!: string;
}

/** Body of `POST /seats/confirm`. */
export class ConfirmDto extends IntersectionType(TicketDto, WorkDto) {}

/** Response of `POST /seats/cancel`. */
export class CancelAnswer {
  @ApiProperty({ type: Boolean, description: 'Whether the ticket still held the seat' })
  readonly cancelled!: boolean;
}
