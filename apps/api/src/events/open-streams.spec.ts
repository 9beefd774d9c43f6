import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiKeyId } from '#libs/domain';
import { OpenStreams } from './open-streams.js';

const [ONE, OTHER] = ['one' as ApiKeyId, 'other' as ApiKeyId];
const refusal = { code: 'rate_limited', options: { retryAfterSeconds: 5 } };

let streams: OpenStreams;

beforeEach(() => {
  streams = new OpenStreams({ maxStreams: 3, maxStreamsPerKey: 2 });
});

describe('a key', () => {
  it('has at most as many streams as it may have, and room again once one is closed', () => {
    const close = streams.open(ONE);
    streams.open(ONE);
    expect(() => streams.open(ONE)).toThrow(expect.objectContaining(refusal));
    close();
    close();
    streams.open(ONE);
    expect(() => streams.open(ONE)).toThrow(expect.objectContaining(refusal));
  });

  it('takes nothing from another one', () => {
    streams.open(ONE);
    streams.open(ONE);
    expect(() => streams.open(OTHER)).not.toThrow();
  });
});

it('a process has at most as many as it may have', () => {
  streams.open(ONE);
  streams.open(ONE);
  const close = streams.open(OTHER);
  expect(() => streams.open(OTHER)).toThrow(expect.objectContaining(refusal));
  close();
  expect(() => streams.open(OTHER)).not.toThrow();
});
