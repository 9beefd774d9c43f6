/** The events to emit: the same event, `count` times. */
export interface Emission {
  readonly event: string;
  /** The payload's JSON text, which is sent unchanged. */
  readonly dataJson: string;
  readonly widgetId: string | undefined;
  readonly count: number;
}

/** The most events and bytes of a request (contract 5.6). */
const MAX_EVENTS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

/** Returns the bodies of the ingest requests, each as full as it may be. */
export function emitRequests({ event, dataJson, widgetId, count }: Emission): readonly string[] {
  const widget = widgetId === undefined ? '' : `"widget_id":${JSON.stringify(widgetId)},`;
  const eventJson = `{"event":${JSON.stringify(event)},${widget}"data":${dataJson}}`;
  const frameBytes = '{"events":[]}'.length;
  const fitting = Math.floor((MAX_BYTES - frameBytes) / (Buffer.byteLength(eventJson) + 1));
  const perRequest = Math.max(1, Math.min(MAX_EVENTS, fitting));
  const requests: string[] = [];
  for (let left = count; left > 0; left -= perRequest) {
    requests.push(`{"events":[${Array<string>(Math.min(left, perRequest)).fill(eventJson).join(',')}]}`);
  }
  return requests;
}
