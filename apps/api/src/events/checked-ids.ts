import { Inject, Injectable } from '@nestjs/common';
import type { InboxEvent } from '#libs/domain';
import { eventKey, FeedReader, type EventKey } from '#libs/postgres';
import { KeyPlaces, type TopicNames } from '#libs/kafka-log';
import { CONFIG, TOPICS } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { SharedQuery } from '../http/shared-query.js';
import { IngestLag } from './ingest-lag.js';

/** The state of an id in the feed. */
export type IdCheck =
  | { readonly kind: 'known' }
  /** The log does not have the id before offset `checkedTo` of its partition. The sequencer checks later offsets. */
  | { readonly kind: 'new'; readonly checkedTo: number };

const NONE: ReadonlyMap<EventKey, IdCheck> = new Map();

/** Looks up event ids that may have been submitted before. */
@Injectable()
export class CheckedIds {
  readonly #places: KeyPlaces;
  readonly #checks: SharedQuery<EventKey, IdCheck>;

  constructor(
    private readonly feed: FeedReader,
    private readonly lag: IngestLag,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CONFIG) config: Config,
  ) {
    this.#places = new KeyPlaces(config.partitions);
    this.#checks = new SharedQuery((keys) => this.#lookUp(keys));
  }

  /**
   * Returns the state of each event in the feed, by `eventKey`.
   * @throws GaplessError `unavailable` when the feed lags too far to check ids
   */
  async check(events: readonly Pick<InboxEvent, 'orgId' | 'id'>[]): Promise<ReadonlyMap<EventKey, IdCheck>> {
    if (events.length === 0) return NONE;
    await this.lag.refuseIfLong(events.map(({ orgId }) => this.#places.of(orgId)));
    return this.#checks.ask(events.map(({ orgId, id }) => eventKey(orgId, id)));
  }

  async #lookUp(keys: readonly EventKey[]): Promise<ReadonlyMap<EventKey, IdCheck>> {
    const { known, projectedTo } = await this.feed.lookUp(keys, this.topics.log);
    return new Map(
      keys.map((key) => {
        const partition = this.#places.of(key.slice(0, key.indexOf('/')));
        return [key, known.has(key) ? { kind: 'known' } : { kind: 'new', checkedTo: projectedTo.get(partition) ?? 0 }];
      }),
    );
  }
}
