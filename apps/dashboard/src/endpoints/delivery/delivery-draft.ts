import type { Endpoint, EndpointChange } from '../../api/resources.js';

/** The members of a webhook that the api may refuse in the delivery fields. */
export const DELIVERY_MEMBERS = [
  ...['filter', 'headers', 'auth', 'max_per_second', 'max_in_flight', 'ordering', 'ordering/batch', 'urgent'],
  ...['signatures', 'client_certificate'],
];

/** The delivery settings of an endpoint as they are shown. */
export type ShownDelivery = Pick<
  Endpoint,
  | 'header_names'
  | 'auth_type'
  | 'oauth2'
  | 'client_certificate'
  | 'legacy_signature'
  | 'signatures'
  | 'respect_retry_after'
  | 'disable_on_gone'
  | 'max_per_second'
  | 'max_in_flight'
  | 'ordering'
  | 'urgent'
  | 'previous_sequence'
  | 'filter'
>;

/** The members of a request that concern delivery. */
export type DeliveryChange = Pick<
  EndpointChange,
  | 'headers'
  | 'auth'
  | 'client_certificate'
  | 'legacy_signature'
  | 'signatures'
  | 'respect_retry_after'
  | 'disable_on_gone'
  | 'max_per_second'
  | 'max_in_flight'
  | 'ordering'
  | 'urgent'
  | 'previous_sequence'
  | 'filter'
>;

export const USUAL_DELIVERY: ShownDelivery = {
  header_names: [],
  auth_type: null,
  oauth2: null,
  client_certificate: null,
  legacy_signature: true,
  signatures: ['hmac'],
  respect_retry_after: false,
  disable_on_gone: false,
  max_per_second: null,
  max_in_flight: null,
  ordering: { by: 'none', batch: 1 },
  urgent: null,
  previous_sequence: false,
  filter: null,
};

type Auth = NonNullable<EndpointChange['auth']>;

/** The fields of the form as they are typed. */
export interface DeliveryDraft {
  readonly filter: string;
  readonly maxPerSecond: string;
  readonly maxInFlight: string;
  readonly orderedBy: Endpoint['ordering']['by'];
  readonly batch: string;
  readonly urgency: 'usual' | 'none' | 'chosen';
  /** The types that pass others, if they are chosen. */
  readonly urgentTypes: readonly string[];
  readonly respectsRetryAfter: boolean;
  readonly disablesOnGone: boolean;
  readonly sendsLegacySignature: boolean;
  readonly sendsPreviousSequence: boolean;
  readonly isAsymmetric: boolean;
  /** A line `Name: value` for each header to set, and `Name:` for each to remove. */
  readonly headers: string;
  readonly auth: 'unchanged' | 'none' | Auth['type'];
  /** The user name, or the id of an OAuth client. */
  readonly username: string;
  readonly secret: string;
  readonly tokenUrl: string;
  readonly scope: string;
  readonly audience: string;
  readonly isSecretInBody: boolean;
  /** PEM, if it is set or replaced, with the key. Then it is not removed. */
  readonly certificate: string;
  readonly privateKey: string;
  readonly removesCertificate: boolean;
}

export function deliveryDraft(shown: ShownDelivery): DeliveryDraft {
  return {
    filter: shown.filter ?? '',
    maxPerSecond: shown.max_per_second?.toString() ?? '',
    maxInFlight: shown.max_in_flight?.toString() ?? '',
    orderedBy: shown.ordering.by,
    batch: shown.ordering.batch.toString(),
    urgency: urgencyOf(shown),
    urgentTypes: shown.urgent ?? [],
    respectsRetryAfter: shown.respect_retry_after,
    disablesOnGone: shown.disable_on_gone,
    sendsLegacySignature: shown.legacy_signature,
    sendsPreviousSequence: shown.previous_sequence,
    isAsymmetric: shown.signatures.includes('ed25519'),
    headers: '',
    auth: shown.auth_type === null ? 'none' : 'unchanged',
    username: shown.oauth2?.client_id ?? '',
    secret: '',
    tokenUrl: shown.oauth2?.token_url ?? '',
    scope: shown.oauth2?.scope ?? '',
    audience: shown.oauth2?.audience ?? '',
    isSecretInBody: shown.oauth2?.client_auth === 'body',
    certificate: '',
    privateKey: '',
    removesCertificate: false,
  };
}

/** Whether the endpoint differs from the defaults. */
export function isUnusual(shown: ShownDelivery): boolean {
  if (shown.header_names.length > 0 || shown.client_certificate !== null) return true;
  return JSON.stringify(deliveryDraft(shown)) !== JSON.stringify(deliveryDraft(USUAL_DELIVERY));
}

/** Returns the members that differ from what is stored. */
export function deliveryChange(draft: DeliveryDraft, shown: ShownDelivery): DeliveryChange {
  const before = deliveryDraft(shown);
  const headers = headersOf(draft.headers);
  return {
    ...(draft.filter === before.filter ? {} : { filter: draft.filter.trim() === '' ? null : draft.filter }),
    ...(draft.maxPerSecond === before.maxPerSecond ? {} : { max_per_second: limitOf(draft.maxPerSecond) }),
    ...(draft.maxInFlight === before.maxInFlight ? {} : { max_in_flight: limitOf(draft.maxInFlight) }),
    ...(draft.orderedBy === before.orderedBy && draft.batch === before.batch ? {} : { ordering: orderingOf(draft) }),
    ...(JSON.stringify(urgentOf(draft)) === JSON.stringify(shown.urgent) ? {} : { urgent: urgentOf(draft) }),
    ...(draft.respectsRetryAfter === before.respectsRetryAfter
      ? {}
      : { respect_retry_after: draft.respectsRetryAfter }),
    ...(draft.disablesOnGone === before.disablesOnGone ? {} : { disable_on_gone: draft.disablesOnGone }),
    ...(draft.sendsLegacySignature === before.sendsLegacySignature
      ? {}
      : { legacy_signature: draft.sendsLegacySignature }),
    ...(draft.sendsPreviousSequence === before.sendsPreviousSequence
      ? {}
      : { previous_sequence: draft.sendsPreviousSequence }),
    ...(draft.isAsymmetric === before.isAsymmetric
      ? {}
      : { signatures: draft.isAsymmetric ? ['hmac', 'ed25519'] : ['hmac'] }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...authOf(draft, shown),
    ...certificateOf(draft),
  };
}

/** Without an order, a request has one event. */
function orderingOf({ orderedBy: by, batch }: DeliveryDraft): Endpoint['ordering'] {
  return { by, batch: by === 'none' ? 1 : Number(batch) };
}

function urgencyOf({ urgent }: ShownDelivery): DeliveryDraft['urgency'] {
  if (urgent === null) return 'usual';
  return urgent.length === 0 ? 'none' : 'chosen';
}

function urgentOf({ urgency, urgentTypes }: DeliveryDraft): Endpoint['urgent'] {
  if (urgency === 'usual') return null;
  return urgency === 'none' ? [] : ([...urgentTypes] as Endpoint['urgent']);
}

/** A text that is not a number is sent as it is, and the api says what is wrong with it. In JSON, NaN would be `null`: no limit. */
function limitOf(text: string): number | null {
  if (text.trim() === '') return null;
  const limit = Number(text);
  return Number.isFinite(limit) ? limit : (text as unknown as number);
}

/** Returns what is wrong with the lines of the headers: a name without a value can only remove one that is sent. */
export function headersProblem(text: string, { header_names: names }: ShownDelivery): string | undefined {
  const sent = names.map((name) => name.toLowerCase());
  const isWrong = Object.entries(headersOf(text)).some(
    ([name, value]) => value === null && !sent.includes(name.toLowerCase()),
  );
  return isWrong ? 'Write each line as “Name: value”.' : undefined;
}

function headersOf(text: string): Record<string, string | null> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...rest] = line.split(':');
      const value = rest.join(':').trim();
      return [name.trim(), value === '' ? null : value];
    }),
  );
}

function authOf(draft: DeliveryDraft, shown: ShownDelivery): Pick<DeliveryChange, 'auth'> {
  const { auth, username, secret, tokenUrl, scope, audience, isSecretInBody } = draft;
  switch (auth) {
    case 'unchanged':
      return {};
    case 'none':
      return shown.auth_type === null ? {} : { auth: null };
    case 'basic':
      return { auth: { type: 'basic', username, password: secret } };
    case 'bearer':
      return { auth: { type: 'bearer', token: secret } };
    case 'oauth2':
      return {
        auth: {
          type: 'oauth2',
          token_url: tokenUrl.trim(),
          client_id: username,
          client_secret: secret,
          ...(scope.trim() === '' ? {} : { scope: scope.trim() }),
          ...(audience.trim() === '' ? {} : { audience: audience.trim() }),
          ...(isSecretInBody ? { client_auth: 'body' } : {}),
        },
      };
  }
}

function certificateOf(draft: DeliveryDraft): Pick<DeliveryChange, 'client_certificate'> {
  const { certificate, privateKey, removesCertificate } = draft;
  // The field of the key is there only with a certificate, and nobody sees what is in it otherwise.
  if (certificate.trim() !== '') return { client_certificate: { certificate, private_key: privateKey } };
  return removesCertificate ? { client_certificate: null } : {};
}
