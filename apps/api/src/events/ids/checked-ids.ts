import { Inject, Injectable } from '@nestjs/common';
import type { InboxEvent } from '#libs/domain';
import { eventKey, FeedReader, type EventKey } from '#libs/postgres';
import { KeyPlaces, type TopicNames } from '#libs/kafka-log';
import { CONFIG, TOPICS } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { SharedQuery } from '../../http/shared-query.js';
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
  readonly #checks = new Map<number, SharedQuery<EventKey, IdCheck>>();

  constructor(
    private readonly feed: FeedReader,
    private readonly lag: IngestLag,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CONFIG) config: Config,
  ) {
    this.#places = new KeyPlaces(config.partitions);
  }

  /**
   * Returns the state of each event in the feed, by `eventKey`.
   * @throws GaplessError `unavailable` when the feed lags too far to check ids, or its database is away
   */
  async check(events: readonly Pick<InboxEvent, 'orgId' | 'id'>[]): Promise<ReadonlyMap<EventKey, IdCheck>> {
    if (events.length === 0) return NONE;
    await this.feed.assertReachable(events.map(({ orgId }) => orgId));
    await this.lag.refuseIfLong(events.map(({ orgId }) => this.#places.of(orgId)));
    const groups = this.feed.groups(events);
    const answers = await Promise.all(
      groups.map(([place, some]) => this.#checksOf(place).ask(some.map(({ orgId, id }) => eventKey(orgId, id)))),
    );
    const [only = NONE, ...more] = answers;
    return more.length === 0 ? only : new Map(answers.flatMap((answer) => [...answer]));
  }

  /** Each database has queries of its own, so that none waits for another one. */
  #checksOf(place: number): SharedQuery<EventKey, IdCheck> {
    let checks = this.#checks.get(place);
    if (checks === undefined) {
      checks = new SharedQuery((keys) => this.#lookUp(keys));
      this.#checks.set(place, checks);
    }
    return checks;
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
