import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { checkSignature } from './check-signature.js';

const SECRET = 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=';
const OLD_SECRET = 'whsec_OTg3NjU0MzIxMDk4NzY1NDMyMTA5ODc2NTQzMjEwOTg=';
const BODY = '{"id": "evt_1", "seq": 1}';
const AT = 1_770_000_000;
const NOW = AT * 1_000;

function signed(key: string | Buffer, message: string): string {
  return `t=${AT},v1=${createHmac('sha256', key).update(message).digest('hex')}`;
}

/** The header while a secret is being rotated: a signature with the new secret, and one with the old secret. */
function rotating(message: string): string {
  return signed(SECRET, message) + signed(OLD_SECRET, message).replace(/^t=\d+/, '');
}

async function check(changes: Partial<Parameters<typeof checkSignature>[0]>, nowMs = NOW) {
  const { isValid, steps } = await checkSignature(
    { secret: SECRET, header: signed(SECRET, `${AT}.${BODY}`), body: BODY, ...changes },
    nowMs,
  );
  return { isValid, last: steps.at(-1)?.text, verdicts: steps.map(({ verdict }) => verdict).join(' ') };
}

describe('a signature', () => {
  it('of this body and this secret verifies', async () => {
    expect(await check({})).toMatchObject({ isValid: true, verdicts: 'pass pass pass' });
  });

  it('of a while ago verifies, with the warning that a receiver would refuse it now', async () => {
    expect(await check({}, NOW + 300_000)).toMatchObject({ verdicts: 'pass pass pass' });
    expect(await check({}, NOW + 301_000)).toMatchObject({ isValid: true, verdicts: 'pass warn pass' });
    expect(await check({}, NOW - 301_000)).toMatchObject({ isValid: true, verdicts: 'pass warn pass' });
  });

  it.each([
    ['new', SECRET],
    ['old', OLD_SECRET],
  ])('of a push during a rotation verifies with the %s secret', async (_, secret) => {
    expect(await check({ secret, header: rotating(`${AT}.${BODY}`) })).toMatchObject({
      isValid: true,
      verdicts: 'pass pass pass',
    });
  });

  it.each([
    ['', 'missing'],
    ['a'.repeat(64), 'X-Webhook-Signature'],
    ['v1,c2ln', 'Standard Webhooks'],
    [`v1=${'a'.repeat(64)}`, 'no timestamp'],
    [`t=${AT},v1=abc`, 'no well-formed signature'],
    [`t=${AT},v1=${'a'.repeat(64)},v1=abc`, 'no well-formed signature'],
  ])('%s is refused for its form', async (header, reason) => {
    expect(await check({ header })).toMatchObject({ isValid: false, last: expect.stringContaining(reason) as unknown });
  });
});

describe('the reason for a mismatch is shown for', () => {
  it.each([
    ['another secret', { secret: SECRET.replace('MDE', 'MDI') }, 'another endpoint'],
    ['white space around the secret', { secret: ` ${SECRET}` }, 'white space around it'],
    ['a secret without its prefix', { secret: SECRET.slice('whsec_'.length) }, 'lacks its prefix'],
    ['a body that was printed again', { body: BODY, header: signed(SECRET, `${AT}.{"id":"evt_1","seq":1}`) }, 'parsed'],
    ['a line break too few during a rotation', { header: rotating(`${AT}.${BODY}\n`) }, 'lost a line break'],
    [
      'a third secret during a rotation',
      { secret: 'whsec_MDI=', header: rotating(`${AT}.${BODY}`) },
      'another endpoint',
    ],
    ['a line break too few', { header: signed(SECRET, `${AT}.${BODY}\n`) }, 'lost a line break'],
    ['a timestamp left out', { header: signed(SECRET, BODY) }, 'signer left out the timestamp'],
    [
      'a decoded secret',
      { header: signed(Buffer.from(SECRET.slice('whsec_'.length), 'base64'), `${AT}.${BODY}`) },
      'decoded the secret',
    ],
    ['something that is no secret', { secret: 'hunter2' }, 'begins with whsec_'],
    ['no secret', { secret: '' }, 'begins with whsec_'],
  ])('%s', async (_, changes, reason) => {
    expect(await check(changes)).toMatchObject({ isValid: false, last: expect.stringContaining(reason) as unknown });
  });
});
