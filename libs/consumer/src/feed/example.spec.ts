import { describe, expect, it } from '@jest/globals';
import { exampleEventId, type EventId } from '../../../domain/src/index.js';
import { isExample } from './example.js';

describe('an example', () => {
  it('has the beginning of its id from the service, and no real event has it', () => {
    const id = 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' as EventId;
    expect([id, exampleEventId(id)].map((each) => isExample({ id: each }))).toEqual([false, true]);
  });
});
