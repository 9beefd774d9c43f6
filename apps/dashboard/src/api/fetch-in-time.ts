import { reportNoAnswer } from './connection.js';
import { NoAnswer } from './no-answer.js';

const READ_TIMEOUT_MS = 10_000;
/** Longer than the api waits for its own servers: what was done should not look as if it may have failed. */
const ACTION_TIMEOUT_MS = 20_000;

export const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Fetches, and gives up on a service that accepts a request and never answers it, or stops within its answer. An answer
 * that takes long because the line is slow has its time after each piece.
 * @throws NoAnswer
 */
export async function fetchInTime(request: Request): Promise<Response> {
  const isAction = !SAFE_METHODS.has(request.method);
  const patience = new AbortController();
  const startWaiting = () => setTimeout(() => patience.abort(), isAction ? ACTION_TIMEOUT_MS : READ_TIMEOUT_MS);
  let giveUp = startWaiting();
  const waitOn = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, pieces) {
      clearTimeout(giveUp);
      giveUp = startWaiting();
      pieces.enqueue(piece);
    },
  });
  try {
    const response = await fetch(request, { signal: patience.signal });
    const body = await new Response(response.body?.pipeThrough(waitOn)).arrayBuffer();
    return new Response(body.byteLength === 0 ? null : body, response);
  } catch {
    reportNoAnswer();
    throw new NoAnswer(patience.signal.aborted ? 'too late' : 'unreachable', isAction);
  } finally {
    clearTimeout(giveUp);
  }
}
