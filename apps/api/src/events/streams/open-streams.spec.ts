import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiKeyId, OrgId } from '#libs/domain';
import { OpenStreams } from './open-streams.js';

const [ONE, OTHER, THIRD] = ['one' as ApiKeyId, 'other' as ApiKeyId, 'third' as ApiKeyId];
const [ORG, OTHER_ORG] = ['org' as OrgId, 'other org' as OrgId];
const refusal = { code: 'rate_limited', options: { limit: 'streams', retryAfterSeconds: 5 } };

let streams: OpenStreams;

beforeEach(() => {
  streams = new OpenStreams({ maxStreams: 6, maxStreamsPerKey: 2 });
});

describe('a key', () => {
  it('has at most as many streams as it may have, and room again once one is closed', () => {
    const close = streams.open(ORG, ONE);
    streams.open(ORG, ONE);
    expect(() => streams.open(ORG, ONE)).toThrow(expect.objectContaining(refusal));
    close();
    close();
    streams.open(ORG, ONE);
    expect(() => streams.open(ORG, ONE)).toThrow(expect.objectContaining(refusal));
  });

  it('takes nothing from another one', () => {
    streams.open(ORG, ONE);
    streams.open(ORG, ONE);
    expect(() => streams.open(ORG, OTHER)).not.toThrow();
  });
});

describe('an organization', () => {
  it('has half of what the others leave, however many keys it has', () => {
    streams.open(ORG, ONE);
    streams.open(ORG, ONE);
    const close = streams.open(ORG, OTHER);
    expect(() => streams.open(ORG, THIRD)).toThrow(expect.objectContaining(refusal));
    expect(() => streams.open(OTHER_ORG, THIRD)).not.toThrow();
    close();
    expect(() => streams.open(ORG, THIRD)).not.toThrow();
  });
});

it('a process has at most as many as it may have', () => {
  streams = new OpenStreams({ maxStreams: 1, maxStreamsPerKey: 2 });
  const close = streams.open(ORG, ONE);
  expect(() => streams.open(OTHER_ORG, OTHER)).toThrow(expect.objectContaining(refusal));
  close();
  expect(() => streams.open(OTHER_ORG, OTHER)).not.toThrow();
});
