import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';

const DOCS_PATH = 'docs';

/** Serves Swagger UI. The lock decorator does not change the OpenAPI document. */
export function setUpSwagger(app: INestApplication): void {
  const description = new DocumentBuilder()
    .setTitle('nestjs-distribute-lock demo')
    .setDescription('Send the same request to both instances at once and see the effect of the lock.')
    .setVersion('0')
    .build();
  SwaggerModule.setup(DOCS_PATH, app, () => SwaggerModule.createDocument(app, description));
}
