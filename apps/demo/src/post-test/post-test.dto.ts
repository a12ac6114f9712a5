import { ApiProperty } from '@nestjs/swagger';
import { IsNotEmpty, IsString, MaxLength } from 'class-validator';

import { WorkDone } from '../work/work-done.js';
import { WorkDto } from '../work/work.dto.js';

const LONGEST_CHANNEL = 100;

/** Body of `POST /post-test`. */
export class PostTestDto extends WorkDto {
  @ApiProperty({ type: String, minLength: 1, maxLength: LONGEST_CHANNEL, example: 'web' })
  @IsString()
  @IsNotEmpty()
  @MaxLength(LONGEST_CHANNEL)
  channel!: string;
}

/** Response of `POST /post-test`. */
export class PostTestDone extends WorkDone {
  @ApiProperty({ type: String, example: 'web' })
  readonly channel!: string;
}
