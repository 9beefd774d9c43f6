import { IsOptional } from 'class-validator';
import { parseTimestamp } from '#libs/event-validation';
import { API_KEY_SCOPES, isApiKeyScope, type ApiKeyScope } from '#libs/postgres';
import { Checked, type MemberCheck } from '../http/checked.decorator.js';
import { required } from '../http/member-checks.js';

const someScopes: MemberCheck = (value) => {
  if (!Array.isArray(value)) return [{ pointer: '', code: 'wrong_type', detail: 'must be an array of scopes' }];
  if (value.length === 0) return [{ pointer: '', code: 'out_of_range', detail: 'must name at least one scope' }];
  return value.flatMap((scope: unknown, index) => {
    const pointer = `/${index}`;
    if (typeof scope !== 'string') return [{ pointer, code: 'wrong_type', detail: 'must be a string' }];
    if (!isApiKeyScope(scope)) {
      return [{ pointer, code: 'not_allowed', detail: `must be one of ${API_KEY_SCOPES.join(', ')}` }];
    }
    return value.indexOf(scope) === index ? [] : [{ pointer, code: 'not_allowed', detail: 'is there already' }];
  });
};

const aTimestamp: MemberCheck = (value) => {
  if (typeof value !== 'string') return [{ pointer: '', code: 'wrong_type', detail: 'must be a string or null' }];
  return parseTimestamp(value) === undefined
    ? [{ pointer: '', code: 'invalid_format', detail: 'must be an RFC 3339 date-time' }]
    : [];
};

/** The body of `POST /external/api-keys`. */
export class CreateApiKeyDto {
  @Checked(required(someScopes))
  readonly scopes!: readonly ApiKeyScope[];

  /** Never, if left out, and if the key that asks does not expire itself. */
  @IsOptional()
  @Checked(aTimestamp)
  readonly expires_at?: string | null;
}
