import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { EVENT_TYPES as CATALOG_TYPES, isIngestable } from '#libs/domain';
import { EVENT_TYPES, type EventDataByType, type GaplessEvent } from '../index.js';
import { eventTypesSource } from './event-types-source.js';

describe('the types of events', () => {
  it('are those that the catalog makes', async () => {
    const path = join(import.meta.dirname, '../event-data.ts');
    expect(readFileSync(path, 'utf8')).toBe(await eventTypesSource(path));
  });

  it('name every type that is ever emitted', () => {
    expect(EVENT_TYPES).toEqual(CATALOG_TYPES.filter(isIngestable));
  });

  it('narrow the payload by the type', () => {
    const stageOf = (event: GaplessEvent): 1 | 2 | undefined => {
      switch (event.event) {
        case 'conversation.queued':
        case 'conversation.queued.escalated':
          return event.data.stage;
        case 'conversation.picked_up':
          // @ts-expect-error an event that clears has no stage
          return event.data.stage satisfies 1 | 2;
        case 'help_article.published':
          return (event.widget_id satisfies null, undefined);
        default:
          return undefined;
      }
    };
    const data = { conversation: {}, stage: 2 } as unknown as EventDataByType['conversation.queued.escalated'];
    expect(stageOf({ event: 'conversation.queued.escalated', data } as GaplessEvent)).toBe(2);
  });
});
