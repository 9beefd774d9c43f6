import type { McpError } from './mcp-error.js';

/** What a server says to a callback beside events. */
export type ControlEnvelope =
  | { readonly type: 'verification'; readonly challenge: string }
  | { readonly type: 'gap'; readonly cursor: string }
  | { readonly type: 'terminated'; readonly error: McpError };

/** The longest answer to a challenge that is read. */
const MAX_ANSWER = 1_024;

/** Returns the challenge that a receiver echoes; `undefined` if it echoes none. */
export function echoedChallenge(answer: string): string | undefined {
  const echoed = memberOf(answer.slice(0, MAX_ANSWER), 'challenge');
  return typeof echoed === 'string' ? echoed : undefined;
}

/**
 * Whether a well-known document of the url's origin covers the url. A prefix ends at the end of a segment, so that
 * `/hooks` does not cover `/hooks-of-others`.
 */
export function coversCallback(document: string, url: URL): boolean {
  const receivers = memberOf(document, 'receivers');
  if (!Array.isArray(receivers)) return false;
  return receivers.some((prefix: unknown) => {
    if (typeof prefix !== 'string' || !prefix.startsWith('/')) return false;
    if (!url.pathname.startsWith(prefix)) return false;
    return prefix.endsWith('/') || url.pathname.length === prefix.length || url.pathname[prefix.length] === '/';
  });
}

function memberOf(json: string, name: string): unknown {
  try {
    const parsed = JSON.parse(json) as unknown;
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    return (parsed as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}
