import { describe, expect, it } from '@jest/globals';
import { isGroupOf } from './group-places.js';

const TOPICS = ['gapless.log.v1', 'gapless-eu.log.v1', 'orders', 'gapless-eu-test.inbox.v1'];

describe('the groups of an installation', () => {
  it.each([
    ['gapless', 'gapless-sequencer', true],
    ['gapless', 'gapless-projector-feed', true],
    ['gapless', 'gapless-eu-sequencer', false],
    ['gapless-eu', 'gapless-eu-sequencer', true],
    ['gapless-eu', 'gapless-sequencer', false],
    ['gapless-eu', 'gapless-eu-test-sequencer', false],
    ['gapless-eu-test', 'gapless-eu-test-sequencer', true],
    ['gapless', 'gapless-reader-6f1fbb3c', false],
    ['gapless', 'orders-gapless-sequencer', false],
  ])('%s: %s is one: %s, with installations on the same brokers that have longer prefixes', (prefix, group, isOne) => {
    expect(isGroupOf(prefix, group, TOPICS)).toBe(isOne);
  });
});
