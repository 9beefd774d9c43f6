export { ApiError, type ApiErrorKind, type ApiProblem } from '../../api-client/src/index.js';
export type { EventDataByType, OrgWideEventType } from '../../event-types/src/index.js';
export type { EventSink, SendOptions } from './events/event-sink.js';
export type { EmittableEventType, NewEvent } from './events/new-event.js';
export { Producer } from './events/producer.js';
export { InvalidEventError, type ReadyEvent } from './events/ready-event.js';
export { HttpSink, type HttpSinkOptions } from './http/http-sink.js';
