import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { ApiClient, type Envelope } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readLog, type LogRecord } from '../support/log-reader.js';
import { drawsFrom, oneTo } from '../support/sequence.js';
import { aStageProcess, type StageProcess } from '../support/stage-process.js';
import { API_HTTP } from '../support/stages.js';

const ORGS = 5;

/** A Gapless whose sequencers are processes of their own, and publishers that send events of five orgs over HTTP. */
class Ordeal {
  readonly acknowledged: ReadonlyMap<string, string[]>;
  readonly feeds = new Map<string, readonly Envelope[]>();
  log: ReadonlyMap<string, readonly LogRecord[]> = new Map();
  readonly #processes: StageProcess[] = [];
  readonly #draw: (below: number) => number;

  private constructor(
    private readonly gapless: GaplessUnderTest,
    private readonly api: ApiClient,
    private readonly readers: ReadonlyMap<OrgId, ApiClient>,
    readonly orgs: readonly OrgId[],
    seed: number,
  ) {
    this.acknowledged = new Map(orgs.map((orgId) => [orgId, []]));
    this.#draw = drawsFrom(seed);
  }

  static async begin(seed: number): Promise<Ordeal> {
    const gapless = await aGapless();
    const app = await gapless.start([ApiModule, ProjectorModule], { http: API_HTTP });
    const store = app.app.get(Store);
    const orgs = oneTo(ORGS).map(anOrgId);
    const readers = await Promise.all(
      orgs.map(async (orgId) => [orgId, new ApiClient(app.url, await anApiKey(store, orgId))] as const),
    );
    const api = new ApiClient(app.url, await anApiKey(store, null));
    return new Ordeal(gapless, api, new Map(readers), orgs, seed);
  }

  async aSequencer(): Promise<StageProcess> {
    const sequencer = await aStageProcess('sequencer', this.gapless.environment);
    this.#processes.push(sequencer);
    return sequencer;
  }

  /**
   * Publishes events of all orgs, every second one twice, with five publishers.
   * @param disturb is called once, when a random part of them is acknowledged
   */
  async publish(count: number, disturb: () => void = () => undefined): Promise<void> {
    const disturbAt = this.#draw(count);
    let left = count;
    let done = 0;
    let disturbed = false;
    const publisher = async () => {
      while (left > 0) {
        const size = Math.min(left, 1 + this.#draw(10));
        left -= size;
        const events = oneTo(size).map((n) => ({
          id: anEventId(),
          org_id: this.orgs[this.#draw(ORGS)]!,
          event: 'ticket.updated',
          data: { n },
        }));
        await this.api.emit(events);
        if (this.#draw(2) === 0) await this.api.emit(events);
        for (const { id, org_id } of events) this.acknowledged.get(org_id)!.push(id);
        done += size;
        if (!disturbed && done > disturbAt) {
          disturbed = true;
          disturb();
        }
      }
    };
    await Promise.all(oneTo(5).map(publisher));
  }

  /** Publishes one more event of each org, and waits until the feed shows it: everything before it is sequenced. */
  async settle(): Promise<void> {
    for (const [orgId, reader] of this.readers) {
      const [last] = await this.api.emit([{ org_id: orgId, event: 'ticket.reopened', data: {} }]);
      this.acknowledged.get(orgId)!.push(last!);
      await eventually(
        async () => {
          this.feeds.set(orgId, await reader.feed());
          expect(this.feeds.get(orgId)!.at(-1)?.id).toBe(last);
        },
        { intervalMs: 100 },
      );
    }
    const { KAFKA_BROKERS: brokers, TOPIC_PREFIX: prefix } = this.gapless.environment;
    this.log = await readLog(brokers!, prefix!);
  }

  /** Resolves once the group has given up the members that it does not hear from. */
  async sessionOver(): Promise<void> {
    const { KAFKA_BROKERS: brokers, TOPIC_PREFIX: prefix } = this.gapless.environment;
    const groupId = `${prefix!}-sequencer`;
    const kafka = new Kafka({ clientId: 'test', brokers: brokers!.split(','), logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    await admin.connect();
    await eventually(
      async () => {
        const { groups } = await admin.describeGroups([groupId]);
        expect(groups[0]?.members).toEqual([]);
      },
      { intervalMs: 200 },
    );
    await admin.disconnect();
  }

  /** What has to hold after whatever happened. */
  expectUnbrokenSequences(): void {
    for (const orgId of this.orgs) {
      const events = this.log.get(orgId)!;
      const ids = events.map(({ id }) => id);
      expect(events.map(({ seq }) => seq)).toEqual(oneTo(events.length));
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.toSorted()).toEqual([...new Set(this.acknowledged.get(orgId))].toSorted());
      expect(events.map(({ envelope }) => JSON.parse(envelope) as unknown)).toEqual(this.feeds.get(orgId));
    }
  }

  get acknowledgedCount(): number {
    return [...this.acknowledged.values()].reduce((sum, ids) => sum + ids.length, 0);
  }

  async end(): Promise<void> {
    await Promise.all(this.#processes.map((sequencer) => sequencer.stop()));
    await this.gapless.stop();
  }
}

async function killed(victim: StageProcess): Promise<void> {
  victim.signal('SIGKILL');
  await victim.ended;
}

/** Three kills in the middle of 2,000 events; somebody starts the sequencer again each time. */
async function killThrice(ordeal: Ordeal): Promise<void> {
  let sequencer = await ordeal.aSequencer();
  await sequencer.ready();
  for (let kill = 1; kill <= 3; kill++) {
    const victim = sequencer;
    await ordeal.publish(600, () => {
      victim.signal('SIGKILL');
    });
    await victim.ended;
    sequencer = await ordeal.aSequencer();
    await sequencer.ready();
  }
  await ordeal.publish(200);
  await ordeal.settle();
}

/** Two sequencers share the partitions; one is killed, and nobody starts it again. */
async function leaveOne(ordeal: Ordeal): Promise<void> {
  const [first, second] = await Promise.all([ordeal.aSequencer(), ordeal.aSequencer()]);
  await Promise.all([first.ready(), second.ready()]);
  await ordeal.publish(500, () => {
    first.signal('SIGKILL');
  });
  await killed(first);
  await ordeal.settle();
}

/** One of two is frozen until the other has taken over its partitions, and then goes on. */
async function freezeOne(ordeal: Ordeal): Promise<void> {
  const [frozen, other] = await Promise.all([ordeal.aSequencer(), ordeal.aSequencer()]);
  await Promise.all([frozen.ready(), other.ready()]);
  await ordeal.publish(500, () => {
    frozen.signal('SIGSTOP');
  });
  await ordeal.settle();
  frozen.signal('SIGCONT');
  await ordeal.publish(500);
  // The one that was frozen has to be of use again: it is the only one that is left.
  await eventually(() => {
    expect(frozen.log.filter(({ msg }) => msg === 'consumer.joined').length).toBeGreaterThan(1);
  });
  expect(await other.stop()).toBe(0);
  await ordeal.publish(100);
  await ordeal.settle();
}

/** The only sequencer is frozen for longer than its session lasts. */
async function freezeTheOnlyOne(ordeal: Ordeal): Promise<void> {
  const sequencer = await ordeal.aSequencer();
  await sequencer.ready();
  await ordeal.publish(500, () => {
    sequencer.signal('SIGSTOP');
  });
  await ordeal.sessionOver();
  sequencer.signal('SIGCONT');
  await ordeal.publish(500);
  await ordeal.settle();
}

describe('the log after', () => {
  const stories = {
    'three kills of the only sequencer, each started again': killThrice,
    'a kill of one of two sequencers': leaveOne,
    'a freeze of one of two sequencers that outlasts its session': freezeOne,
    'a freeze of the only sequencer that outlasts its session': freezeTheOnlyOne,
  };
  const ordeals = new Map<string, Ordeal>();
  const outcomes = new Map<string, Promise<void>>();

  // Most of their time they wait for sessions to end, so they do it side by side.
  beforeAll(async () => {
    for (const [seed, [name, story]] of Object.entries(stories).entries()) {
      const ordeal = await Ordeal.begin(seed + 1);
      ordeals.set(name, ordeal);
      outcomes.set(name, story(ordeal));
    }
    await Promise.allSettled(outcomes.values());
    // Each of their waits has a limit of its own.
  }, 900_000);

  afterAll(async () => {
    await Promise.all([...ordeals.values()].map((ordeal) => ordeal.end()));
  });

  it.each(Object.keys(stories))('%s: each seq is there once, and so is each acknowledged event', async (name) => {
    await outcomes.get(name);
    ordeals.get(name)!.expectUnbrokenSequences();
  });

  it('holds 2,000 events and more of the killed one', () => {
    expect(ordeals.get(Object.keys(stories)[0]!)!.acknowledgedCount).toBeGreaterThanOrEqual(2_000);
  });
});
