import type { SentRequest } from '../api/resources.js';

/** Headers that curl sets from the url and the body. */
const COMPUTED = new Set(['host', 'content-length', 'connection', 'transfer-encoding']);

/**
 * Returns a command for a POSIX shell that sends the same request again, without headers that are no longer known.
 * `undefined` if the url is unknown.
 *
 * The body goes through a pipe: a shell prints any text itself, but Linux gives a program no argument over 128 KiB.
 */
export function curlCommand({ url, method, headers, body }: SentRequest): string | undefined {
  if (url === null) return undefined;
  const sent = Object.entries(headers).filter(([name, value]) => value !== null && !COMPUTED.has(name.toLowerCase()));
  return [
    `printf %s ${quoted(body)} |`,
    // With `-g`, brackets and braces in the url have no meaning.
    `curl -g -i -X ${method} ${quoted(url)}`,
    ...sent.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    '--data-binary @-',
  ].join(' \\\n  ');
}

/**
 * Quotes a text for the shell. Single quotes keep everything except a single quote itself, which has to be outside of
 * them.
 */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
