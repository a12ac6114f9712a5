import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';

const DOCS_PATH = 'docs';

/** Serves Swagger UI; the lock decorator leaves the OpenAPI document as it is. */
export function setUpSwagger(app: INestApplication): void {
  const description = new DocumentBuilder()
    .setTitle('nestjs-distribute-lock demo')
    .setDescription('Send the same request to both instances at once and see what the lock does.')
    .setVersion('0')
    .build();
  SwaggerModule.setup(DOCS_PATH, app, () => SwaggerModule.createDocument(app, description));
}
