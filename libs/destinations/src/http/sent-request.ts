import type { DatedTarget } from '#libs/domain';
import type { AttemptedDelivery, SentRequest } from '../destination-kind.js';
import { pushHeaders, SIGNATURE_HEADERS } from './push/push-headers.js';

/**
 * The dispatcher looks the endpoint up a moment before it begins an attempt, and its clock is not ours: an attempt from
 * right behind a change may have been made with what was there before.
 */
const UNSURE_MS = 5_000;

function isAsThen(changedAt: Date | null, at: Date): boolean {
  return changedAt === null || at.getTime() > changedAt.getTime() + UNSURE_MS;
}

/** The secret before the current one, if it signed, too; `undefined` if it did or may have, and is not known. */
function previousSecretAt({ previousSecret, previousSecretUntil }: DatedTarget, at: Date): string | null | undefined {
  if (previousSecretUntil === null || at.getTime() > previousSecretUntil.getTime() + UNSURE_MS) return null;
  if (previousSecret === null || at.getTime() >= previousSecretUntil.getTime() - UNSURE_MS) return undefined;
  return previousSecret;
}

function noteOnSignatures(showSignatures: boolean, isSecretKnown: boolean, isOverlapKnown: boolean): string | null {
  if (!showSignatures) return 'Signatures are shown only to keys with the scope webhooks:write.';
  if (isSecretKnown && !isOverlapKnown) {
    return 'A second secret signed this attempt, or may have, and is not kept: its signatures are not known any more.';
  }
  if (isSecretKnown) return null;
  return 'The secret of the endpoint was rotated since this attempt, or right before it: its signatures are not known any more.';
}

/**
 * The request of the latest attempt. It is not stored: it follows from the stored bytes, from when the attempt began, and
 * from the endpoint's secret and url, as long as those are what they were then.
 * @param showSignatures whether the caller may see them: a genuine signature lets its holder pose as Gapless
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
  // By the clock that stamped the signatures, and that saw the endpoint.
  const at = new Date(latest.at.getTime() - latest.leadMs);
  const pushed = { delivery, run, attempt, traceparent: null, envelope: Buffer.from(envelope) };
  const isUrlKnown = isAsThen(target.urlChangedAt, at);
  const isSecretKnown = isAsThen(target.secretChangedAt, at);
  const previousSecret = previousSecretAt(target, at);
  const signatureNote = noteOnSignatures(showSignatures, isSecretKnown, previousSecret !== undefined);
  const unknown = [
    ...(signatureNote === null ? [] : SIGNATURE_HEADERS),
    // Of an event that comes from the log, the trace is the producer's; a replay begins one that follows from the event.
    ...(run > 0 ? [] : ['traceparent']),
  ];
  return {
    method: 'POST',
    url: isUrlKnown ? target.url : null,
    url_note: isUrlKnown ? null : 'The url of the endpoint has changed since this attempt, or right before it.',
    headers: {
      ...pushHeaders(pushed, target.secret, at.getTime(), previousSecret ?? null),
      ...Object.fromEntries(unknown.map((name) => [name, null])),
    },
    signature_note: signatureNote,
    body: envelope,
  };
}
