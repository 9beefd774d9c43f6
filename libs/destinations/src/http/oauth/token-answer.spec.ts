import { describe, expect, it } from '@jest/globals';
import { readTokenAnswer, tokenErrorOf } from './token-answer.js';

const answer = (members: object) =>
  readTokenAnswer(JSON.stringify({ access_token: 't', token_type: 'Bearer', ...members }));
const DAY_MS = 86_400_000;

describe('the answer of a token endpoint', () => {
  it.each<[unknown, number, number]>([
    [3_600, 3_570_000, 3_600_000],
    ['3600', 3_570_000, 3_600_000],
    [40, 20_000, 40_000],
    [0, 0, 0],
    [-1, 0, 0],
    [1e99, DAY_MS - 30_000, DAY_MS],
    ['1e999', DAY_MS - 30_000, DAY_MS],
    ['abc', 270_000, 300_000],
    ['', 270_000, 300_000],
    [null, 270_000, 300_000],
    [[5], 270_000, 300_000],
    [undefined, 270_000, 300_000],
  ])('with expires_in %j is used for %d ms, and valid for %d ms', (expires_in, usableMs, validMs) => {
    expect(answer({ expires_in })).toEqual({ kind: 'token', token: 't', usableMs, validMs });
  });

  it('may say so without an end', () => {
    expect(readTokenAnswer('{"access_token":"t","expires_in":1e999}')).toMatchObject({ usableMs: DAY_MS - 30_000 });
  });

  it.each<[string, string]>([
    ['', 'no JSON object'],
    ['<html>', 'no JSON object'],
    ['null', 'no JSON object'],
    ['[1]', 'no JSON object'],
    ['\u001f\u008b\u0008', 'no JSON object'],
    ['{}', 'without an access_token'],
    ['{"access_token":1}', 'without an access_token'],
    ['{"access_token":""}', 'without an access_token'],
    ['{"access_token":"t","token_type":"mac"}', 'of another type'],
    ['{"access_token":"t","token_type":{}}', 'of another type'],
    [String.raw`{"access_token":"t\r\nX-Service-Event: test"}`, 'that no header can have'],
    [String.raw`{"access_token":"t\n"}`, 'that no header can have'],
    ['{"access_token":"two words"}', 'that no header can have'],
    ['{"access_token":"é"}', 'that no header can have'],
    [JSON.stringify({ access_token: 't'.repeat(6_145) }), 'that no header can have'],
  ])('%.40j is none', (body, why) => {
    expect(readTokenAnswer(body)).toEqual({ kind: 'unusable', detail: expect.stringContaining(why) as unknown });
  });

  it('names only errors of the standard', () => {
    expect(tokenErrorOf('{"error":"invalid_client","error_description":"secret"}')).toBe('invalid_client');
    for (const body of ['{"error":"a secret"}', '{"error":["invalid_client"]}', '{}', 'invalid_client', '']) {
      expect(tokenErrorOf(body)).toBeUndefined();
    }
  });
});
