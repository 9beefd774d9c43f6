import { RouterPlaces } from '#libs/postgres';
import { LogPositions, ROUTER_GROUP } from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import type { GroupPlace } from './group-places.js';

/** A partition of the log whose events the dispatchers route again from an earlier place. */
export interface RoutedAgain {
  readonly partition: number;
  /** Where Postgres says that routing was. */
  readonly from: number;
  readonly to: number;
}

/**
 * Finds what the dispatchers would leave out as routed before. Kafka went back with the delivery facts and the offsets of
 * the groups, but the place in Postgres did not: the facts of what was routed in between may be lost.
 * @param moved where groups continue
 */
export async function findRoutedAgain(
  { connection, topics, store, config }: Installation,
  moved: readonly GroupPlace[],
): Promise<readonly RoutedAgain[]> {
  const groupId = `${config.topicPrefix}-${ROUTER_GROUP}`;
  const goesOnAt = new Map(await new LogPositions(connection).committed(groupId, topics.log));
  for (const { partition, to } of moved.filter((place) => place.groupId === groupId)) goesOnAt.set(partition, to);
  const places = await new RouterPlaces(store).all(topics.log);
  return [...places].flatMap(([partition, { nextOffset: from }]) => {
    // 0 if Kafka knows of no offset: then only the place keeps all of the log from being routed again.
    const to = goesOnAt.get(partition) ?? 0;
    return to === 0 || to >= from ? [] : [{ partition, from, to }];
  });
}
