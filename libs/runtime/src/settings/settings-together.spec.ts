import { describe, expect, it } from '@jest/globals';
import { problemsTogether } from './settings-together.js';

const SIGN_IN = { KAFKA_USERNAME: 'gapless', KAFKA_PASSWORD: 'secret' };
const FILES = { KAFKA_CERT_FILE: '/client.pem', KAFKA_KEY_FILE: '/client.key' };

describe('settings that belong together', () => {
  it.each([
    {},
    { KAFKA_TLS: 'true', KAFKA_CA_FILE: '/ca.pem', ...FILES },
    { KAFKA_SASL: 'PLAIN', ...SIGN_IN },
    { KAFKA_SASL: 'oauthbearer', KAFKA_TOKEN_URL: 'https://sso.example.com/token', ...SIGN_IN },
  ])('%j is complete', (environment) => {
    expect(problemsTogether(environment)).toEqual([]);
  });

  it.each([
    [{ KAFKA_SASL: 'scram-sha-512', KAFKA_USERNAME: 'gapless' }, ['KAFKA_PASSWORD']],
    [{ KAFKA_SASL: 'oauthbearer', ...SIGN_IN }, ['KAFKA_TOKEN_URL']],
    [SIGN_IN, ['KAFKA_SASL', 'KAFKA_SASL']],
    [{ KAFKA_TLS: 'true', KAFKA_CERT_FILE: '/client.pem' }, ['KAFKA_KEY_FILE']],
    [{ KAFKA_TLS: 'true', KAFKA_KEY_FILE: '/client.key' }, ['KAFKA_CERT_FILE']],
    [{ KAFKA_CA_FILE: '/ca.pem' }, ['KAFKA_CA_FILE is set, but KAFKA_TLS']],
  ])('%j lacks %j', (environment, missing) => {
    expect(problemsTogether(environment)).toEqual(missing.map((name) => expect.stringContaining(name)));
  });

  const ONE = 'postgres://me:hunter2@db-1/feed';
  const SAME = 'postgres://you@db-1:5432/feed?sslmode=require';
  const TWO = 'postgres://me:hunter2@db-2/feed';

  it.each([
    [`${ONE},${SAME}`, '12', ['names db-1:5432/feed more than once']],
    [`${ONE}, ${TWO}`, '1', ['lists 2 databases, but PARTITIONS is 1']],
    [`${ONE}, ${TWO}`, '2', []],
  ])('%s over %s partitions has these problems', (PROJECTION_DATABASE_URLS, PARTITIONS, problems) => {
    const found = problemsTogether({ PROJECTION_DATABASE_URLS, PARTITIONS });
    expect(found).toEqual(problems.map((problem) => expect.stringContaining(problem)));
    expect(found.join()).not.toContain('hunter2');
  });

  it.each([
    [TWO, []],
    [`${TWO},${TWO}`, ['DATABASE_READ_URLS names db-2:5432/feed more than once']],
    [SAME, ['DATABASE_READ_URLS names db-1:5432/feed, which is no replica']],
    ['postgres://me@db-0/gapless', ['DATABASE_READ_URLS names db-0:5432/gapless, which is no replica']],
  ])('%s as replicas have these problems', (DATABASE_READ_URLS, problems) => {
    const primaries = { DATABASE_URL: 'postgres://me@db-0/gapless', PROJECTION_DATABASE_URLS: ONE, PARTITIONS: '12' };
    const found = problemsTogether({ ...primaries, DATABASE_READ_URLS });
    expect(found).toEqual(problems.map((problem) => expect.stringContaining(problem)));
    expect(found.join()).not.toContain('hunter2');
  });

  it('shows no secret', () => {
    expect(problemsTogether({ KAFKA_PASSWORD: 'hunter2' }).join()).not.toContain('hunter2');
  });
});
