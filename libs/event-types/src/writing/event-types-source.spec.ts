import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { EVENT_TYPES as CATALOG_TYPES, isSubscribable } from '#libs/domain';
import { EVENT_TYPES, type EventDataByType, type GaplessEvent } from '../index.js';
import { eventTypesSource } from './event-types-source.js';

describe('the types of events', () => {
  it('are those that the catalog makes', async () => {
    const path = join(import.meta.dirname, '../event-data.ts');
    expect(readFileSync(path, 'utf8')).toBe(await eventTypesSource(path));
  });

  it('name every type that is ever emitted', () => {
    expect(EVENT_TYPES).toEqual(CATALOG_TYPES.filter((type) => isSubscribable(type) && type !== 'lead.captured'));
  });

  it('narrow the payload by the type', () => {
    const stageOf = (event: GaplessEvent): 1 | 2 | undefined => {
      if (event.event === 'conversation.queued') return event.data.stage satisfies 1;
      if (event.event === 'conversation.queued.escalated') return event.data.stage satisfies 2;
      // @ts-expect-error only those two have a stage
      return event.data.stage satisfies 1 | 2;
    };
    const data = { conversation: {}, stage: 2 } as unknown as EventDataByType['conversation.queued.escalated'];
    expect(stageOf({ event: 'conversation.queued.escalated', data } as GaplessEvent)).toBe(2);
  });
});
