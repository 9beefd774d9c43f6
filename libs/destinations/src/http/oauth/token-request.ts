import { VERSION, type OAuth2Client } from '#libs/domain';
import type { PushRequest } from '../push/push-attempt.js';

/** Returns the request of a token by the client credentials grant (RFC 6749, 4.4.2). */
export function tokenRequest(client: OAuth2Client): Pick<PushRequest, 'url' | 'headers' | 'body' | 'needsBody'> {
  const { token_url: url, client_id: id, client_secret: secret, scope, audience, client_auth: way = 'basic' } = client;
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(way === 'body' ? { client_id: id, client_secret: secret } : {}),
    ...(scope === undefined ? {} : { scope }),
    ...(audience === undefined ? {} : { audience }),
  });
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    'user-agent': `Gapless/${VERSION}`,
    ...(way === 'basic' ? { authorization: `Basic ${encodedPair(id, secret)}` } : {}),
  };
  return { url, headers: () => headers, body: Buffer.from(form.toString()), needsBody: true };
}

/** Both are encoded as in a form first (RFC 6749, 2.3.1). */
function encodedPair(id: string, secret: string): string {
  const encoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return Buffer.from(`${encoded(id)}:${encoded(secret)}`).toString('base64');
}
