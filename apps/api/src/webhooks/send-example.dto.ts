import type { EventType } from '#libs/domain';
import { Checked } from '../http/checked.decorator.js';
import { described, required } from '../http/member-rules.js';
import { anExampleType } from './webhook-members.js';

/** The body of `POST …/send-example`. */
export class SendExampleDto {
  @Checked(required(described(anExampleType, { description: 'The event type whose example is sent.' })))
  readonly event!: EventType;
}
