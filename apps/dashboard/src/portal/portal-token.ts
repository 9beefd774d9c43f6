const KEY = 'gapless.portal';

/** The token of a session, and the link that opened it. */
export interface KeptToken {
  readonly link: string;
  readonly token: string;
}

/** Returns the token that this tab keeps; `null` if it has none, or the browser stores nothing in frames. */
export function keptToken(): KeptToken | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Partial<KeptToken> | null;
    return typeof kept?.link === 'string' && typeof kept.token === 'string'
      ? { link: kept.link, token: kept.token }
      : null;
  } catch {
    return null;
  }
}

export function keepToken(kept: KeptToken | null): void {
  try {
    if (kept === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // Browsers may forbid storage in frames. The session then lasts until the page is loaded again.
  }
}

/** Takes the token of a link out of the address, so that nobody copies it from there. */
export function takeLinkToken(): string | null {
  const token = /^#(gpl_[\w-]{43})$/.exec(location.hash)?.[1];
  if (token === undefined) return null;
  history.replaceState(history.state, '', location.pathname + location.search);
  return token;
}
