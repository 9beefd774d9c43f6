import { batchBody, NO_ORDERING, type DatedTarget } from '#libs/domain';
import type { AttemptedDelivery, SentRequest } from '../destination-kind.js';
import { PREVIOUS_HEADER, pushHeaders, SIGNATURE_HEADERS } from './push/push-headers.js';

/**
 * The dispatcher reads the endpoint shortly before an attempt, and its clock may differ from ours. So an attempt this
 * soon after a change may have used the old url or secret.
 */
const UNSURE_MS = 5_000;

function isAsThen(changedAt: Date | null, at: Date): boolean {
  return changedAt === null || at.getTime() > changedAt.getTime() + UNSURE_MS;
}

/** Returns the previous secret if it signed, too; `undefined` if it signed or may have, but is no longer known. */
function previousSecretAt({ previousSecret, previousSecretUntil }: DatedTarget, at: Date): string | null | undefined {
  if (previousSecretUntil === null || at.getTime() > previousSecretUntil.getTime() + UNSURE_MS) return null;
  if (previousSecret === null || at.getTime() >= previousSecretUntil.getTime() - UNSURE_MS) return undefined;
  return previousSecret;
}

const IN_A_BATCH =
  'This attempt sent several events in one request, of which only this one is shown: the signatures over all of them are not known any more.';

function noteOnSignatures(showSignatures: boolean, target: DatedTarget, at: Date): string | null {
  if (!showSignatures) return 'Signatures are shown only to keys with the scope webhooks:write.';
  if (!isAsThen(target.settingsChangedAt, at)) {
    return 'The delivery settings of the endpoint have changed since this attempt, or right before it: its signatures and additional headers are not known any more.';
  }
  if (!isAsThen(target.secretChangedAt, at)) {
    return 'The secret of the endpoint was rotated since this attempt, or right before it: its signatures are not known any more.';
  }
  if (target.secret === null) {
    return 'The stored secret of the endpoint cannot be decrypted: the signatures of this attempt are not known.';
  }
  if (previousSecretAt(target, at) === undefined) {
    return 'A second secret signed this attempt, or may have, and is not kept: its signatures are not known any more.';
  }
  return null;
}

/**
 * Rebuilds the request of the latest attempt; it is not stored. It follows from the stored bytes, the start of the
 * attempt, and the endpoint's secret and url, if those are unchanged since.
 * @param showSignatures whether the caller may see signatures: a valid one lets its holder pose as Gapless
 * @returns null before the first attempt, and once retention has removed the bytes
 */
export function sentRequest(
  { delivery, attemptsLog, envelope }: AttemptedDelivery,
  target: DatedTarget,
  showSignatures: boolean,
): SentRequest | null {
  const latest = attemptsLog.at(-1);
  if (latest === undefined || envelope === null) return null;
  const { run, attempt } = latest;
  // The time by the dispatcher's clock, which stamped the signatures.
  const at = new Date(latest.at.getTime() - latest.leadMs);
  const pushed = { delivery, run, attempt, traceparent: null, envelope: Buffer.from(envelope) };
  const { batch } = latest;
  const isAlone = batch === null || batch[0] === batch[1];
  const body = batch === null ? pushed.envelope : batchBody([pushed.envelope]);
  const isUrlKnown = isAsThen(target.urlChangedAt, at);
  const previousSecret = previousSecretAt(target, at);
  const areSettingsKnown = isAsThen(target.settingsChangedAt, at);
  const signatureNote = isAlone ? noteOnSignatures(showSignatures, target, at) : IN_A_BATCH;
  const { settings, shownHeaders } = target;
  // Public keys do not rebuild a signature.
  const isAsymmetric = signatureNote === null && settings.signatures?.includes('ed25519') === true;
  const ordering = batch === null ? NO_ORDERING : { by: 'endpoint' as const, batch: 2 };
  // Without a secret, the signatures are left out below.
  const headers = pushHeaders({ ...pushed, body }, target.secret ?? '', at.getTime(), previousSecret ?? null, {
    settings: { ...settings, ordering },
  });
  const made = isAlone ? headers : { ...headers, 'x-service-sequence': `${batch[0]}-${batch[1]}` };
  // That of the request is the one of its first event.
  const namesAnother = batch !== null && batch[0] !== delivery.seq;
  const unknown = [
    ...(signatureNote === null ? [] : SIGNATURE_HEADERS.filter((name) => !areSettingsKnown || name in made)),
    ...(isAsymmetric ? ['webhook-signature'] : []),
    ...(isAlone ? [] : ['webhook-id', 'x-service-delivery-id']),
    ...(namesAnother && PREVIOUS_HEADER in made ? [PREVIOUS_HEADER] : []),
    // The values of additional headers are never shown.
    ...(areSettingsKnown ? (shownHeaders?.names ?? []) : []).map((name) => name.toLowerCase()),
    ...(areSettingsKnown && shownHeaders?.auth ? ['authorization'] : []),
    // A routed event carries its producer's trace, which is not known here. A replay's trace follows from the event.
    ...(run > 0 ? [] : ['traceparent']),
  ];
  return {
    method: 'POST',
    url: isUrlKnown ? target.url : null,
    url_note: isUrlKnown ? null : 'The url of the endpoint has changed since this attempt, or right before it.',
    headers: {
      ...made,
      ...Object.fromEntries(unknown.map((name) => [name, null])),
    },
    signature_note: isAsymmetric ? 'A header with an Ed25519 signature is not shown.' : signatureNote,
    body: isAlone ? body.toString() : envelope,
  };
}
