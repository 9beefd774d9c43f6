import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { responseExcerpt } from './response-excerpt.js';
import { sentSecrets, withoutSecrets } from './sent-secrets.js';

const HEX = '0123456789abcdef'.repeat(4);
const TOKEN = 'tok/en"<&\'>+é-1234567890';
const SENT = {
  'x-service-event': 'ticket.created',
  'x-service-signature': `t=1750000000,v1=${HEX}`,
  'webhook-signature': 'v1,aGVsbG8rL3dvcmxkaGVsbG8rL3dvcmxkaGVsbG8rL3c=',
  authorization: `Bearer ${TOKEN}`,
  'x-tenant': 'acme',
};
const SECRETS = sentSecrets(SENT, {
  signatures: ['x-service-signature', 'x-webhook-signature', 'webhook-signature'],
  values: ['authorization', 'x-tenant'],
});

const excerptOf = (body: string) => responseExcerpt([Buffer.from(body)], SECRETS);

describe('the excerpt of an answer that repeats its request', () => {
  it('hides credentials and signatures, and shows the rest', () => {
    expect(JSON.parse(excerptOf(JSON.stringify(SENT)))).toEqual({
      ...SENT,
      'x-service-signature': 't=1750000000,v1=[hidden]',
      'webhook-signature': 'v1,[hidden]=',
      authorization: '[hidden]',
    });
  });

  it.each([
    ['as it is', TOKEN],
    ['in JSON', JSON.stringify(TOKEN).slice(1, -1)],
    [
      'in JSON of PHP',
      JSON.stringify(TOKEN)
        .slice(1, -1)
        .replaceAll('/', String.raw`\/`),
    ],
    ['in HTML', 'tok/en&quot;&lt;&amp;&#39;&gt;+é-1234567890'],
    ['in a URL', encodeURIComponent(TOKEN)],
  ])('hides them %s', (_case, form) => {
    expect(excerptOf(`wrong: ${form}!`)).toBe('wrong: [hidden]!');
  });

  it.each([1, 5, 40, 60])('hides the first %i characters of one at the cut', (length) => {
    const before = '.'.repeat(1024 - length);
    for (const more of ['', 'zzzz']) {
      const excerpt = responseExcerpt([Buffer.from(before + HEX + more)], SECRETS);
      expect(excerpt).toBe(`${before}[hidden]`.slice(0, 1024));
    }
    expect(responseExcerpt([Buffer.from(before + HEX.slice(0, length))], SECRETS)).not.toContain(HEX.slice(0, length));
  });

  it('hides the longest start of one, whatever repeats in it', () => {
    const text = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength });
    fc.assert(
      fc.property(text(20), text(8), (answer, secret) => {
        fc.pre(!answer.includes(secret));
        const starts = Array.from({ length: secret.length }, (_, length) => secret.slice(0, length));
        const longest = Math.max(...starts.filter((start) => answer.endsWith(start)).map(({ length }) => length));
        const expected = longest === 0 ? answer : `${answer.slice(0, -longest)}[hidden]`;
        expect(withoutSecrets(answer, [secret], true)).toBe(expected);
      }),
    );
  });

  it('hides the start of one where the answer breaks off', () => {
    expect(excerptOf(`got ${HEX.slice(0, 20)}`)).toBe('got [hidden]');
    expect(excerptOf('answer 0')).toBe('answer 0');
  });

  it('shows short values, without which nobody could read it', () => {
    expect(excerptOf('acme is unknown')).toBe('acme is unknown');
  });

  it('hides the password of Basic credentials, too', () => {
    const authorization = `Basic ${Buffer.from('gapless:open sesame').toString('base64')}`;
    const secrets = sentSecrets({ authorization }, { signatures: [], values: ['authorization'] });
    const body = `${authorization} is not open sesame`;
    expect(responseExcerpt([Buffer.from(body)], secrets)).toBe('[hidden] is not [hidden]');
  });
});
