import { Controller, Get, Header } from '@nestjs/common';
import { ASYNCAPI_JSON } from './asyncapi-document.js';

/** `GET /asyncapi.json`: the description of the Kafka topics. It needs no key. */
@Controller('asyncapi.json')
export class AsyncApiController {
  @Get()
  @Header('content-type', 'application/json; charset=utf-8')
  read(): string {
    return ASYNCAPI_JSON;
  }
}
