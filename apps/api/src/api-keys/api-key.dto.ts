import { ORG_KEY_SCOPES, type ApiKeyScope } from '#libs/postgres';
import { Checked } from '../http/checked.decorator.js';
import { absentOrNull, aNameOf, aSetOf, aTimestamp, required } from '../http/member-rules.js';

const someScopes = aSetOf(ORG_KEY_SCOPES, { minItems: 1, of: 'scopes' });

/** The body of `POST /external/api-keys`. */
export class CreateApiKeyDto {
  @Checked(required(someScopes))
  readonly scopes!: readonly ApiKeyScope[];

  /** Absent or null: the key expires with the key that requests it, or never if that key does not expire. */
  @Checked(absentOrNull(aTimestamp))
  readonly expires_at?: string | null;

  /** What the key is for, as people call it. */
  @Checked(absentOrNull(aNameOf(120)))
  readonly name?: string | null;
}
