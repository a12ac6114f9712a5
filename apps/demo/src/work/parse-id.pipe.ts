import { type ArgumentMetadata, BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';

/** The largest id of the demo, so that requests cannot choose the length of a key. */
export const LARGEST_ID = 1_000_000_000;

/** Takes whole numbers from 1 to {@link LARGEST_ID} as ids in paths. */
@Injectable()
export class ParseIdPipe implements PipeTransform<unknown, number> {
  transform(value: unknown, { data: name = 'id' }: ArgumentMetadata): number {
    // The validation pipe has converted the text to a number before.
    const id = Number(value);
    if (Number.isInteger(id) && id >= 1 && id <= LARGEST_ID) return id;
    throw new BadRequestException(`${name} must be a whole number from 1 to ${LARGEST_ID}`);
  }
}
