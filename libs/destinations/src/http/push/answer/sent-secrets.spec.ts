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

const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
/** Escapes what the default encoder of `System.Text.Json` escapes. */
const inJsonOfDotNet = (text: string) =>
  text.replaceAll('\\', String.raw`\\`).replaceAll(/["&<>'+`\u007f-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code.toUpperCase()}`;
  });
/** References for what the default encoder of `System.Text.Encodings.Web` replaces. */
const inHtmlOfDotNet = (text: string) =>
  text.replaceAll(/["&<>'+`\u00a0-\u{10ffff}]/gu, (character) => {
    return `&#x${character.codePointAt(0)!.toString(16).toUpperCase()};`;
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
    ['in JSON', inJson(TOKEN)],
    ['in JSON of PHP', String.raw`tok\/en\"<&'>+\u00e9-1234567890`],
    ['in JSON of Go', String.raw`tok/en\"\u003c\u0026'\u003e+é-1234567890`],
    ['in JSON of .NET', inJsonOfDotNet(TOKEN)],
    ['in JSON of .NET within JSON', inJson(inJsonOfDotNet(TOKEN))],
    ['in HTML', 'tok/en&quot;&lt;&amp;&#39;&gt;+é-1234567890'],
    ['in HTML of Go', 'tok/en&#34;&lt;&amp;&#39;&gt;&#43;é-1234567890'],
    ['in HTML of .NET', inHtmlOfDotNet(TOKEN)],
    ['in HTML within JSON', inJsonOfDotNet(inHtmlOfDotNet(TOKEN))],
    ['in HTML with names', 'tok&sol;en&quot;&lt;&amp;&apos;&gt;&plus;é-1234567890'],
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

  it('hides a signature with escapes for +, whole and cut anywhere', () => {
    const signature = `${'aB+/'.repeat(10)}aB+`;
    const sent = { 'webhook-signature': `v1,${signature}=` };
    const secrets = sentSecrets(sent, { signatures: ['webhook-signature'], values: [] });
    const [json, html] = [inJsonOfDotNet(signature), inHtmlOfDotNet(signature)];
    expect(json).toContain(String.raw`aB\u002B/aB`);
    expect(html).toContain('aB&#x2B;/aB');
    for (const form of [json, html]) {
      expect(responseExcerpt([Buffer.from(`{"was":"v1,${form}="}`)], secrets)).toBe('{"was":"v1,[hidden]="}');
      for (let length = 1; length < form.length; length++) {
        // The excerpt is made from the first 1,028 bytes.
        const before = '.'.repeat(1028 - length);
        const excerpt = responseExcerpt([Buffer.from(before + form)], secrets);
        expect(excerpt).toBe(`${before}[hidden]`.slice(0, 1024));
      }
    }
  });

  it.each([
    ['a backslash', String.raw`domain\user+1`],
    ['a backslash before an escape', String.raw`domain\+user`],
    ['what looks like an escape', String.raw`domain\u002Buser`],
    ['Cyrillic letters', 'my пароль'],
    ['an emoji', 'secret👋secret'],
  ])('hides a password with %s, whole and cut anywhere', (_case, password) => {
    const authorization = `Basic ${Buffer.from(`gapless:${password}`).toString('base64')}`;
    const secrets = sentSecrets({ authorization }, { signatures: [], values: ['authorization'] });
    for (const form of [password, inJson(password), inJsonOfDotNet(password), inHtmlOfDotNet(password)]) {
      expect(responseExcerpt([Buffer.from(`not ${form}!`)], secrets)).toBe('not [hidden]!');
      const bytes = Buffer.from(form);
      for (let length = 1; length < bytes.length; length++) {
        const before = '.'.repeat(1028 - length);
        const excerpt = responseExcerpt([Buffer.from(before), bytes.subarray(0, length)], secrets);
        expect(excerpt).toBe(`${before}[hidden]`.slice(0, 1024));
      }
    }
  });

  it('shows an answer that holds none with the escapes that it came with', () => {
    const body = String.raw`{"a":"1 \u002B 1 &#43; &nbsp;&#9999999;","b":"\u00e9 \\u0041 \ud83d","c":"&lt;\u00`;
    expect(excerptOf(body)).toBe(body);
  });

  it('shows other escapes as safely as the characters', () => {
    const body = String.raw`\u202e\ud83d\u0000\u0022&#0;&#x202E;&#xd83d;&#9999999; ${HEX}`;
    expect(excerptOf(body)).toBe(`\ufffd\ufffd${String.raw`\u0000\"`}\ufffd\ufffd\ufffd&#9999999; [hidden]`);
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
