import { Checked } from '../http/checked.decorator.js';
import { aString, required } from '../http/member-checks.js';

/** The body of `POST /dashboard/session`. */
export class SignInDto {
  @Checked(required(aString))
  readonly api_key!: string;
}
