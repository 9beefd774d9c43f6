import { expect, it } from '@jest/globals';
import type { Position, RoutedPlace } from '#libs/domain';
import type { RouterPlaces } from '#libs/postgres';
import { PositionSources, type KafkaConnection } from '#libs/kafka-log';
import { createLogger } from '#libs/runtime';
import { RouterPositions } from './router-positions.js';

const ANCHOR = '41:0123456789abcdef';

/** Where the router continues in partition 0 of the log. */
async function begins(committed: { offset: string; metadata: string | null }, place?: RoutedPlace): Promise<Position> {
  const sources = new PositionSources();
  const connection = {
    withAdmin: () => Promise.resolve([{ topic: 'log', partitions: [{ partition: 0, ...committed }] }]),
  } as unknown as KafkaConnection;
  const places = { find: () => Promise.resolve(place) } as unknown as RouterPlaces;
  const unused = new RouterPositions(
    places,
    connection,
    sources,
    { topicPrefix: 'gapless' },
    createLogger('silent', ''),
  );
  expect(unused).toBeDefined();
  return (await sources.of('router')!('log', [0])).get(0)!;
}

function routedUpTo(nextOffset: number): RoutedPlace {
  return { nextOffset, appendedUntilMs: 1 };
}

it('goes back to what was routed if a tool has moved the group ahead of it', async () => {
  expect(await begins({ offset: '42', metadata: '' }, routedUpTo(30))).toEqual({ next: 30, anchor: null });
});

it.each([
  ['a router committed the offset, which is saved less often', ANCHOR, routedUpTo(30)],
  ['a tool has moved the group back', '', routedUpTo(50)],
  ['nothing was routed', '', undefined],
])('goes on at the committed offset if %s', async (_why, metadata, place) => {
  expect((await begins({ offset: '42', metadata }, place)).next).toBe(42);
});
