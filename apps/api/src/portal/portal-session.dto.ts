import { ORG_KEY_SCOPES, type ApiKeyScope } from '#libs/postgres';
import { Checked, type MemberRule } from '../http/checked.decorator.js';
import {
  absentOrNull,
  anIntegerOf,
  aLineOf,
  aSetOf,
  aTextOf,
  described,
  problem,
  required,
} from '../http/member-rules.js';

const LONGEST_SECONDS = 12 * 3_600;
export const DEFAULT_SECONDS = 3_600;
const MAX_URL_LENGTH = 2_048;

/** The scopes that a session may have. Visitors submit no events. */
export const PORTAL_SCOPES = ORG_KEY_SCOPES.filter((scope) => scope !== 'events:write');

const text = aTextOf(MAX_URL_LENGTH);

/** The page that a link leads back to. Other schemes could run scripts in the portal. */
const aWebUrl: MemberRule = {
  schema: { ...text.schema, format: 'uri' },
  check: (value) => {
    const found = text.check(value);
    if (found.length > 0 || typeof value !== 'string') return found;
    const url = URL.canParse(value) ? new URL(value) : null;
    if (url === null || !['https:', 'http:'].includes(url.protocol)) {
      return [problem('invalid_format', 'must be an http or https url')];
    }
    // Visitors would see them.
    const hasCredentials = url.username !== '' || url.password !== '';
    return hasCredentials ? [problem('not_allowed', 'must not have credentials')] : [];
  },
};

/** The body of `POST /internal/orgs/:orgId/portal-sessions`. */
export class CreatePortalSessionDto {
  @Checked(required(aSetOf(PORTAL_SCOPES, { minItems: 1, of: 'scopes' })))
  readonly scopes!: readonly ApiKeyScope[];

  @Checked(
    absentOrNull(
      described(anIntegerOf(60, LONGEST_SECONDS), {
        description: 'Seconds from now. At most 12 hours.',
        default: DEFAULT_SECONDS,
      }),
    ),
  )
  readonly expires_in?: number | null;

  @Checked(absentOrNull(described(aWebUrl, { description: 'The page that the portal links back to.' })))
  readonly return_url?: string | null;

  @Checked(
    absentOrNull(described(aLineOf(120), { description: 'Who it is for. The portal and the audit log show it.' })),
  )
  readonly user_label?: string | null;
}

/** The body of `POST /portal/session`. */
export class OpenPortalSessionDto {
  @Checked(required(described(aTextOf(100), { description: 'The token in the fragment of the link.' })))
  readonly link_token!: string;
}
