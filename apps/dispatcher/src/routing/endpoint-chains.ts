import { setTimeout as delay } from 'node:timers/promises';
import {
  NO_PREVIOUS,
  previousWithinMs,
  UNKNOWN_PREVIOUS,
  type EndpointId,
  type LogEvent,
  type LoggedPlace,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { hasLeader, partitionOf, type LogPositions, type Positions } from '#libs/kafka-log';
import type { StageKit } from '#libs/platform';
import type { PreviousSeqs } from '#libs/postgres';

/** How long a partition waits for look-ups while a router has it, in all. */
const PATIENCE_MS = 2_000;
const LOOK_EVERY_MS = 50;
/** How often Kafka is asked for ends that are not known yet: those of partitions without a leader. */
const READ_ENDS_EVERY_MS = 1_000;

/** Endpoints of an organization that are remembered although they do not ask any more. */
const KEPT_WITHOUT_ASKING = 1_000;

/** An event of the log, as its chains need it. */
export type ChainEvent = Pick<LogEvent & LoggedPlace, 'orgId' | 'seq'> & { readonly appendedAtMs: number };

/** An event's place in the chain of an endpoint. */
export interface ChainLink {
  /** `DeliveryRef.previousSeq`. It is set once the chains are settled. */
  previousSeq?: number;
}

interface OpenLink {
  readonly link: ChainLink;
  readonly endpointId: EndpointId;
  readonly event: ChainEvent;
}

interface OrgChains {
  /** The last event of the organization. */
  seq: Seq;
  /** The last event of each endpoint's chain, as far as the router has met it. Those with the latest events are last. */
  readonly last: Map<EndpointId, ChainEvent>;
}

export interface EndpointChainsDependencies {
  readonly previousSeqs: Pick<PreviousSeqs, 'find'>;
  readonly positions: Pick<LogPositions, 'ends'>;
  readonly kit: StageKit;
}

/**
 * The chains of endpoints in a partition of the log, while a router has it without a break. It meets every event from the
 * group's offset on. What comes before that offset has its deliveries in the facts, because their records were
 * acknowledged before the offset was committed. So the first event that it meets for an endpoint follows the last one that
 * is stored, once the facts are projected up to where they ended then.
 */
export class EndpointChains {
  readonly #orgs = new Map<OrgId, OrgChains>();
  #open: OpenLink[] = [];
  /** The ends of the partitions of the facts, each as it was first known after the router got its partition. */
  readonly #factsEnds = new Map<number, number>();
  #readEndsAtMs = -Infinity;
  #patienceMs = PATIENCE_MS;

  constructor(private readonly use: EndpointChainsDependencies) {}

  /**
   * Meets the next event of an organization, whether an endpoint receives it or not.
   * @param isAsked whether an endpoint of the organization asks for its chain now
   */
  meet({ orgId, seq }: ChainEvent, isAsked: boolean): void {
    const chains = this.#orgs.get(orgId);
    if (chains === undefined) {
      if (isAsked) this.#orgs.set(orgId, { seq, last: new Map() });
      return;
    }
    // The events so far were late repeats of old ones, and others are stored that came before the router got the partition.
    if (seq !== chains.seq + 1) chains.last.clear();
    chains.seq = seq;
  }

  /**
   * Forgets endpoints of the organization that do not ask any more, such as deleted ones. This bounds the memory. The
   * 1,000 with the latest events stay: they may ask again, while the facts of these events are not projected yet.
   * @param asking the endpoints that ask for their chain now
   */
  forget(orgId: OrgId, asking: readonly { readonly id: EndpointId }[]): void {
    const last = this.#orgs.get(orgId)?.last;
    const most = asking.length + KEPT_WITHOUT_ASKING;
    if (last === undefined || last.size <= most) return;
    const ids = new Set(asking.map(({ id }) => id));
    for (const id of last.keys()) {
      if (last.size <= most) return;
      if (!ids.has(id)) last.delete(id);
    }
  }

  /** Adds the event that was met last to the chain of an endpoint. */
  add(endpointId: EndpointId, { orgId, seq, appendedAtMs }: ChainEvent, link: ChainLink): void {
    // The given event may have more members. Its envelope would keep a whole response of Kafka in memory.
    const event: ChainEvent = { orgId, seq, appendedAtMs };
    const last = this.#orgs.get(orgId)?.last;
    const previous = last?.get(endpointId);
    last?.delete(endpointId);
    last?.set(endpointId, event);
    if (previous === undefined) {
      this.#open.push({ link, endpointId, event });
      return;
    }
    const isKept = event.appendedAtMs - previous.appendedAtMs <= this.#withinMs;
    link.previousSeq = isKept ? previous.seq : NO_PREVIOUS;
  }

  /**
   * Looks up what the router has not met itself. Never rejects. If the answer does not come in time, the previous event is
   * unknown for good, because other endpoints wait, too.
   * @param isOver whether the result is not needed any more
   */
  async settle(isOver: () => boolean): Promise<void> {
    if (this.#open.length === 0) return;
    for (;;) {
      let failure: unknown;
      const sinceMs = performance.now();
      try {
        this.#open = await this.#lookUp(this.#open);
      } catch (error) {
        failure = error;
      }
      if (this.#open.length === 0 || isOver()) return;
      if (this.#patienceMs <= 0) {
        this.#giveUp(failure);
        return;
      }
      await delay(LOOK_EVERY_MS);
      this.#patienceMs -= performance.now() - sinceMs;
    }
  }

  #giveUp(failure: unknown): void {
    const { metrics, logger } = this.use.kit;
    const [first] = this.#open;
    for (const { link } of this.#open) link.previousSeq = UNKNOWN_PREVIOUS;
    metrics.add('gapless_router_previous_unknown_total', {}, this.#open.length);
    logger.warn(
      { deliveries: this.#open.length, org_id: first?.event.orgId, endpoint_id: first?.endpointId, err: failure },
      'router.previous_unknown',
    );
    this.#open = [];
  }

  get #withinMs(): number {
    return previousWithinMs(this.use.kit.config.retentionMs);
  }

  /** @returns the links that have to wait for the projector */
  async #lookUp(open: readonly OpenLink[]): Promise<OpenLink[]> {
    const { config, topics } = this.use.kit;
    const asked = open.map(({ endpointId, event }) => ({
      endpointId,
      seq: event.seq,
      createdAtMs: event.appendedAtMs,
      partition: partitionOf(endpointId, config.partitions),
    }));
    const factsEnds = await this.#knownEnds(asked.map(({ partition }) => partition));
    const found = await this.use.previousSeqs.find(asked, this.#withinMs, topics.deliveries);
    return open.filter(({ link }, nth) => {
      const [partition, stored] = [asked[nth]?.partition ?? 0, found[nth]];
      if (stored === undefined || !factsEnds.has(partition)) return true;
      if (stored.projectedTo < (factsEnds.get(partition) ?? 0)) return true;
      link.previousSeq = stored.previousSeq ?? NO_PREVIOUS;
      return false;
    });
  }

  /** Returns the ends that are known. Those of partitions without a leader are asked for again. */
  async #knownEnds(asked: readonly number[]): Promise<Positions> {
    const isKnown = asked.every((partition) => this.#factsEnds.has(partition));
    if (isKnown || performance.now() < this.#readEndsAtMs) return this.#factsEnds;
    let ends: Positions;
    try {
      ends = await this.use.positions.ends(this.use.kit.topics.deliveries);
    } finally {
      this.#readEndsAtMs = performance.now() + READ_ENDS_EVERY_MS;
    }
    for (let partition = 0; partition < this.use.kit.config.partitions; partition++) {
      // If an end moved on with each read, the projector might never get there.
      if (this.#factsEnds.has(partition) || !hasLeader(ends, partition)) continue;
      this.#factsEnds.set(partition, ends.get(partition) ?? 0);
    }
    return this.#factsEnds;
  }
}
