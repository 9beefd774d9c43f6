import { Controller, Get, Header } from '@nestjs/common';
import { CATALOG } from '#libs/domain';
import { AnyKey } from '../auth/require-scope.js';

/** The catalog does not change while the process runs. */
const CATALOG_JSON = JSON.stringify({
  data: CATALOG.map(({ event, family, description, scope, deprecated, operational, subject, schema, example }) => ({
    event,
    family,
    description,
    scope,
    deprecated,
    operational,
    subject,
    schema,
    example,
  })),
});

/** `GET /external/event-types`: the catalog with the schema of each type's `data` (contract 5.7). */
@Controller('api/v1/external/event-types')
export class ListEventTypesController {
  @Get()
  @AnyKey()
  @Header('content-type', 'application/json; charset=utf-8')
  list(): string {
    return CATALOG_JSON;
  }
}
