import type { ShownDelivery } from './delivery-draft.js';

/** A setting in words. */
export interface DeliveryFact {
  readonly name: string;
  readonly text: string;
  /** Whether the text is code. */
  readonly isCode?: true;
}

const ORDERS = { none: undefined, endpoint: 'By sequence number', subject: 'By subject' } as const;

/** Returns the delivery settings that differ from the defaults, in the order of the form. */
export function deliveryFacts(shown: ShownDelivery): readonly DeliveryFact[] {
  const { filter, ordering, urgent, header_names: headerNames, client_certificate: certificate } = shown;
  const facts: readonly (DeliveryFact | false)[] = [
    filter !== null && { name: 'Filter', text: filter, isCode: true },
    fact('Pace', paceText(shown)),
    fact('Order', ORDERS[ordering.by]),
    ordering.batch > 1 && { name: 'Batch', text: `Up to ${ordering.batch} events in a request` },
    urgent !== null && { name: 'Urgent', text: urgent.length === 0 ? 'No events' : urgent.join(', ') },
    shown.respect_retry_after && { name: 'Retry-After', text: 'Respected' },
    shown.disable_on_gone && { name: '410 Gone', text: 'Disables the endpoint' },
    fact('Signatures', signatureText(shown)),
    shown.previous_sequence && { name: 'Previous sequence', text: 'Sent' },
    headerNames.length > 0 && { name: 'Headers', text: headerNames.join(', ') },
    fact('Authorization', authText(shown)),
    certificate !== null && { name: 'Client certificate', text: certificateText(certificate) },
  ];
  return facts.filter((one) => one !== false);
}

function fact(name: string, text: string | undefined): DeliveryFact | false {
  return text !== undefined && { name, text };
}

function authText({ auth_type: type, oauth2 }: ShownDelivery): string | undefined {
  if (type === null) return undefined;
  if (type !== 'oauth2') return type === 'basic' ? 'Basic' : 'Bearer';
  if (oauth2 === null) return 'OAuth 2';
  const { token_url: url, client_id: id, scope, audience, client_auth: clientAuth } = oauth2;
  const parts = [
    `OAuth 2: ${id} at ${url}`,
    ...(scope === null ? [] : [`scope ${scope}`]),
    ...(audience === null ? [] : [`audience ${audience}`]),
    ...(clientAuth === 'body' ? ['client secret in the body'] : []),
  ];
  return parts.join(', ');
}

export function certificateText(shown: NonNullable<ShownDelivery['client_certificate']>): string {
  return `${shown.subject}, SHA-256 ${shown.fingerprint}, expires ${shown.expires_at.slice(0, 10)}`;
}

function paceText({ max_per_second: perSecond, max_in_flight: inFlight }: ShownDelivery): string | undefined {
  const parts = [
    ...(perSecond === null ? [] : [`${perSecond.toLocaleString()} per second`]),
    ...(inFlight === null ? [] : [`${inFlight.toLocaleString()} at the same time`]),
  ];
  return parts.length === 0 ? undefined : `At most ${parts.join(', ')}`;
}

function signatureText({ signatures, legacy_signature: isLegacySent }: ShownDelivery): string | undefined {
  const parts = [
    ...(signatures.includes('ed25519') ? ['Ed25519 too'] : []),
    ...(isLegacySent ? [] : ['no X-Webhook-Signature']),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
}
