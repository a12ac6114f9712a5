import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsInt, IsNotEmpty, IsString, Max, MaxLength, Min } from 'class-validator';

/** The requests that the page can send, by name. */
export const KINDS = ['exclusive', 'wait', 'read', 'write', 'semaphore', 'unlocked', 'stale'] as const;
export type RequestKind = (typeof KINDS)[number];

const MOST_REQUESTS = 50;
const LONGEST_WORK_MS = 10_000;

/** Body of `POST /controls/send`. */
export class SendDto {
  @ApiProperty({ enum: KINDS })
  @IsIn(KINDS)
  kind!: RequestKind;

  @ApiProperty({ type: [String], example: ['A', 'B'] })
  @IsString({ each: true })
  to!: string[];

  @ApiProperty({ type: Number, description: 'Requests to each instance', example: 5 })
  @IsInt()
  @Min(1)
  @Max(MOST_REQUESTS)
  count!: number;

  @ApiProperty({ type: Number, example: 1500 })
  @IsInt()
  @Min(0)
  @Max(LONGEST_WORK_MS)
  workMs!: number;
}

/** Body of `POST /controls/{stop,start,restart}`. */
export class InstanceDto {
  @ApiProperty({ type: String, example: 'B' })
  @IsString()
  @IsNotEmpty()
  @MaxLength(20)
  instance!: string;
}
