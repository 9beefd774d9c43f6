import { Controller, Get, Header } from '@nestjs/common';
import { OPENAPI_JSON } from './openapi-document.js';

/** `GET /openapi.json`: the description of the HTTP interface. It needs no key. */
@Controller('openapi.json')
export class OpenApiController {
  @Get()
  @Header('content-type', 'application/json; charset=utf-8')
  read(): string {
    return OPENAPI_JSON;
  }
}
