import type { SentRequest } from '../api/resources.js';

/** Set by curl itself from the url and the body. */
const COMPUTED = new Set(['host', 'content-length', 'connection', 'transfer-encoding']);

/**
 * A command that sends the same request again, to be pasted into a POSIX shell; without the headers that are not known
 * any more. `undefined` when it is not known where to.
 */
export function curlCommand({ url, method, headers, body }: SentRequest): string | undefined {
  if (url === null) return undefined;
  const sent = Object.entries(headers).filter(([name, value]) => value !== null && !COMPUTED.has(name.toLowerCase()));
  return [
    `curl -i -X ${method} ${quoted(url)}`,
    ...sent.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    // Not `-d`: that takes a leading @ for the name of a file.
    `--data-raw ${quoted(body)}`,
  ].join(' \\\n  ');
}

/** Within single quotes a shell takes everything as it is; a single quote itself has to stand outside of them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
