import { Checked } from '../http/checked.decorator.js';
import { aString, described, required } from '../http/member-rules.js';

/** The body of `POST /dashboard/session`. */
export class SignInDto {
  @Checked(required(described(aString, { description: 'A key of the organization.' })))
  readonly api_key!: string;
}
