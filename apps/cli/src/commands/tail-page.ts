import { elementSlices, memberSlices } from '#libs/domain';

/** A page of the feed; the envelopes are the very text that was served. */
export interface TailPage {
  readonly envelopes: readonly string[];
  /** Whether this was all that there is. */
  readonly isCaughtUp: boolean;
  /** The seq of the last envelope; `undefined` without any. */
  readonly lastSeq: number | undefined;
}

/** @param text the body of `GET /external/events` (spec 4.1) */
export function readTailPage(text: string): TailPage {
  const page = memberSlices(text);
  const envelopes = elementSlices(page.get('data') ?? '[]');
  const last = envelopes.at(-1);
  return {
    envelopes,
    isCaughtUp: (page.get('next_seq') ?? 'null') === 'null',
    lastSeq: last === undefined ? undefined : Number(memberSlices(last).get('seq')),
  };
}

/** An event on one line. */
export function tailLine(envelopeJson: string): string {
  const envelope = JSON.parse(envelopeJson) as {
    readonly seq: number;
    readonly occurred_at: string;
    readonly event: string;
    readonly id: string;
    readonly widget_id: string | null;
  };
  const { seq, occurred_at: occurredAt, event, id, widget_id: widgetId } = envelope;
  return [`#${seq}`, occurredAt, event, id, ...(widgetId === null ? [] : [`widget ${widgetId}`])].join('  ');
}
