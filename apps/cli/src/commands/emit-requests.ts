import type { Submission } from '#libs/api-client';

/** The events to emit: the same event, `count` times. */
export interface Emission {
  readonly event: string;
  /** The payload's JSON text, which is sent unchanged. */
  readonly dataJson: string;
  readonly widgetId: string | undefined;
  readonly count: number;
  readonly newId: () => string;
}

/** The most events and bytes of a request (contract 5.6). */
const MAX_EVENTS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

/** Yields the events of each ingest request, which is as full as it may be. */
export function* emitRequests(emission: Emission): Generator<readonly Submission[]> {
  const { event, dataJson, widgetId, count, newId } = emission;
  const widget = widgetId === undefined ? '' : `"widget_id":${JSON.stringify(widgetId)},`;
  const submission = (): Submission => {
    const id = newId();
    return { id, json: `{"id":"${id}","event":${JSON.stringify(event)},${widget}"data":${dataJson}}` };
  };
  const frameBytes = '{"events":[]}'.length;
  const fitting = Math.floor((MAX_BYTES - frameBytes) / (Buffer.byteLength(submission().json) + 1));
  const perRequest = Math.max(1, Math.min(MAX_EVENTS, fitting));
  for (let left = count; left > 0; left -= perRequest) {
    yield Array.from({ length: Math.min(left, perRequest) }, submission);
  }
}
