import type { Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { CreateApiKeyDto } from '../api-keys/api-key.dto.js';
import { SignInDto } from '../dashboard/sign-in.dto.js';
import { RecoverDeliveriesDto } from '../deliveries/recover-deliveries.dto.js';
import { LiveChatSettingsDto } from '../live-chat/live-chat-settings.dto.js';
import { RotateSecretDto } from '../webhooks/rotate-secret.dto.js';
import { CreateWebhookDto, UpdateWebhookDto } from '../webhooks/webhook.dto.js';
import { bodySchema } from './body-schema.js';
import { readDto } from './json-body.decorator.js';

const WIDGET = '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001';
/** For each body one that is whole; each of its members is then replaced by each of the values. */
const WHOLE: readonly (readonly [Type<object>, Readonly<Record<string, unknown>>])[] = [
  [
    CreateWebhookDto,
    { url: 'https://a.example/', events: ['ticket.created'], name: 'n', description: 'd', widget_ids: [WIDGET] },
  ],
  [UpdateWebhookDto, { url: 'https://a.example/', events: ['ticket.created'], name: null, is_active: true }],
  [RotateSecretDto, { overlap_seconds: 60 }],
  [CreateApiKeyDto, { scopes: ['events:read'], name: 'n', expires_at: '2030-01-01T00:00:00Z' }],
  [RecoverDeliveriesDto, { since_seq: 1, since: null, until: '2030-01-01T00:00:00Z', status: 'failed', dry_run: true }],
  [
    LiveChatSettingsDto,
    {
      first_alert_seconds: 45,
      second_alert_seconds: 180,
      staff_alerts: { enabled: true, emails: ['a@b.example'] },
    },
  ],
  [SignInDto, { api_key: 'gk_' }],
];
const VALUES: readonly unknown[] = [
  ...[undefined, null, true, 0, -1, 1, 1.5, 1e16, 604_800, 604_801, 86_400, 86_401],
  ...[
    '',
    'x',
    'a\u0000b',
    'a\u0007b',
    'two\nlines',
    'a\u0085b',
    '\u200b',
    'Acme\u202eemca',
    '👩🏽‍💻 र्‍य',
    '😀'.repeat(120),
    'x'.repeat(121),
    'x'.repeat(1_001),
    'failed',
    'missed',
  ],
  ...['2030-01-01T00:00:00Z', 'tomorrow', [], [null], ['x'], ['ticket.created', 'ticket.created'], ['test'], [WIDGET]],
  ...[['events:read', 'events:read'], ['events:delete'], Array.from({ length: 1_001 }, () => WIDGET), ['not-a-uuid']],
  ...[{}, { enabled: true }, { enabled: 'x', emails: [] }, { enabled: true, emails: ['no'], more: 1 }],
  { enabled: true, emails: Array.from({ length: 51 }, (_, n) => `a${n}@b.example`) },
  { enabled: true, emails: ['a@b.example', 'a@b.example'] },
];

/** As strict as the readers of the document are, who know formats. */
const ajv = new Ajv2020({
  formats: {
    uri: true,
    uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
    email: /^[^@\s]+@[^@\s]+\.[^@\s]+$/,
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  },
});

function isAccepted(body: object, dto: Type<object>): boolean {
  try {
    readDto(Buffer.from(JSON.stringify(body)), dto);
    return true;
  } catch {
    return false;
  }
}

describe.each(WHOLE)('the schema of %p', (dto, whole) => {
  const isValid = ajv.compile(bodySchema(dto));

  it('accepts and refuses what its rules do, member by member', () => {
    expect([isValid(whole), isAccepted(whole, dto)]).toEqual([true, true]);
    const differ = [...Object.keys(whole), 'unknown'].flatMap((name) =>
      VALUES.map((value) => ({ ...whole, [name]: value }))
        .map((body) => JSON.parse(JSON.stringify(body)) as object)
        .filter((body) => isValid(body) !== isAccepted(body, dto))
        .map((body) => ({ name, body: JSON.stringify(body).slice(0, 200), schema: isValid(body) })),
    );
    expect(differ).toEqual([]);
  });
});
