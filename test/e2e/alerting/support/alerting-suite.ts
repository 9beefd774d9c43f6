import { Module } from '@nestjs/common';
import {
  AlertClaims,
  AlertOutbox,
  ChatQueueProjection,
  Store,
  type PublishedAlerts,
  type UnpublishedAlert,
} from '#libs/postgres';
import {
  Appender,
  inboxRecord,
  KafkaConnection,
  LogPositions,
  PartitionWriter,
  SEQUENCER_GROUP,
  type TopicNames,
} from '#libs/kafka-log';
import type { EventId, OrgId, WidgetId } from '#libs/domain';
import { TOPICS, type GaplessApp } from '#libs/platform';
import { createLogger } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { AlertPublisher, type Published } from '../../../../apps/alerting/src/alert-publisher.js';
import { CaughtUpPartitions } from '../../../../apps/alerting/src/caught-up-partitions.js';
import { FoldQueueHandler } from '../../../../apps/alerting/src/fold-queue.handler.js';
import { FoldedInbox } from '../../../../apps/alerting/src/folded-inbox.js';
import { Sweep } from '../../../../apps/alerting/src/sweep.js';
import { ApiModule } from '../../../../apps/api/src/api.module.js';
import { ProjectorModule } from '../../../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../../../apps/sequencer/src/sequencer.module.js';
import { ApiClient, type Envelope } from '../../../support/api-client.js';
import { anApiKey } from '../../../support/api-keys.js';
import { conversationData, HANDED_OFF_AT_MS } from '../../../support/conversations.js';
import { aGapless, type GaplessUnderTest } from '../../../support/gapless.js';
import { anEventId, anOrgId } from '../../../support/ids.js';
import { readTopic } from '../../../support/log-reader.js';
import { API_HTTP } from '../../../support/stages.js';

/** A staff alert as its readers see it (contract 10). */
export interface StaffAlert {
  readonly alert_id: string;
  readonly org_id: string;
  readonly conversation_id: string;
  readonly stage: number;
  readonly event_id: string;
  readonly raised_at: string;
  readonly data: unknown;
}

/** An outbox of a process that dies when it has written to Kafka, and before it has noted that. */
class DyingOutbox extends AlertOutbox {
  override publish(
    partition: number,
    options: { readonly limit: number; readonly nowMs: number; readonly logTopic: string },
    publish: (alerts: readonly UnpublishedAlert[]) => Promise<void>,
  ): Promise<PublishedAlerts> {
    return super.publish(partition, options, async (alerts) => {
      await publish(alerts);
      throw new Error('killed');
    });
  }
}

/** A publisher of a process that dies before it has written anything. */
class DeadPublisher extends AlertPublisher {
  override publish(_partitions: readonly number[], raised: ReadonlySet<EventId>): Promise<Published> {
    if (raised.size > 0) return Promise.reject(new Error('killed'));
    return Promise.resolve({ count: 0, failures: new Map() });
  }
}

/** An org and its conversations; `afterSeconds` counts from the time at which all are handed off by default. */
export class OrgUnderTest {
  private constructor(
    private readonly suite: AlertingSuite,
    readonly orgId: OrgId,
    readonly api: ApiClient,
  ) {}

  static async of(suite: AlertingSuite): Promise<OrgUnderTest> {
    const orgId = anOrgId();
    return new OrgUnderTest(suite, orgId, new ApiClient(suite.app.url, await anApiKey(suite.store, orgId)));
  }

  /** Submits events of conversations, in this order. */
  async happens(
    ...events: readonly {
      readonly event: string;
      readonly conversation?: string;
      readonly afterSeconds?: number;
      readonly data?: object;
      readonly widgetId?: WidgetId;
    }[]
  ): Promise<void> {
    const records = events.map(({ event, conversation = 'cnv_1', afterSeconds = 0, data, widgetId }) =>
      inboxRecord(
        this.suite.topics.inbox,
        {
          id: anEventId(),
          event: `conversation.${event}`,
          occurredAt: new Date(HANDED_OFF_AT_MS + afterSeconds * 1_000).toISOString(),
          orgId: this.orgId,
          widgetId: widgetId ?? null,
          dataJson: JSON.stringify(data ?? dataOf(event, conversation)),
        },
        { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
      ),
    );
    await this.suite.appender.append(records);
  }

  /** The alerting events of the log, as the feed shows them. */
  async alertEvents(): Promise<readonly Envelope[]> {
    return (await this.api.feed()).filter(({ event }) => event.startsWith('conversation.queued'));
  }

  async staffAlerts(): Promise<readonly StaffAlert[]> {
    const records = await readTopic(this.suite.brokers, this.suite.topics.staffAlerts);
    return records
      .filter(({ key }) => key === this.orgId)
      .map(({ value }) => JSON.parse(value.toString()) as StaffAlert);
  }

  async set(
    first: number,
    second: number,
    staffAlerts: { enabled: boolean; emails: readonly string[] },
  ): Promise<void> {
    const answer = await this.api.request(
      'PUT',
      `/internal/orgs/${this.orgId}/live-chat-settings`,
      JSON.stringify({ first_alert_seconds: first, second_alert_seconds: second, staff_alerts: staffAlerts }),
    );
    if (answer.status !== 200) throw new Error(answer.text);
  }

  async list<T>(what: 'alerts' | 'waiting-conversations'): Promise<T> {
    const answer = await this.api.request('GET', `/internal/orgs/${this.orgId}/${what}`);
    if (answer.status !== 200) throw new Error(answer.text);
    return JSON.parse(answer.text) as T;
  }
}

function dataOf(event: string, conversation: string): object {
  switch (event) {
    case 'picked_up':
      return { ...conversationData(conversation, { status: 'active' }), picked_up_by: { id: 'usr_1', name: 'Mara' } };
    case 'abandoned':
      return conversationData(conversation, { status: 'abandoned' });
    case 'queued':
      return { ...conversationData(conversation), stage: 1 };
    default:
      return conversationData(conversation);
  }
}

/** Keeps the queues, and leaves the sweeps to others. */
@Module({ controllers: [FoldQueueHandler], providers: [FoldedInbox] })
class FoldingModule {}

/** Alerting with everything around it, and sweeps that happen when a test says so, at the time that it says. */
export class AlertingSuite {
  readonly #writers: PartitionWriter[] = [];

  private constructor(
    readonly gapless: GaplessUnderTest,
    readonly app: GaplessApp,
  ) {}

  static async start(): Promise<AlertingSuite> {
    const gapless = await aGapless();
    const stages = [ApiModule, SequencerModule, ProjectorModule, FoldingModule];
    return new AlertingSuite(gapless, await gapless.start(stages, { http: API_HTTP }));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.close()));
    await this.gapless.stop();
  }

  get store(): Store {
    return this.app.app.get(Store);
  }

  get appender(): Appender {
    return this.app.app.get(Appender);
  }

  get topics(): TopicNames {
    return this.app.app.get<TopicNames>(TOPICS);
  }

  get brokers(): string {
    return this.gapless.environment['KAFKA_BROKERS'] ?? '';
  }

  anOrg(): Promise<OrgUnderTest> {
    return OrgUnderTest.of(this);
  }

  /** A sweep of one more process, so many seconds after the conversations were handed off. */
  sweepAfter(
    seconds: number,
    how: {
      readonly dies?: 'before writing' | 'after writing';
      readonly patienceMs?: number;
      readonly brokers?: string;
      readonly metrics?: Metrics;
    } = {},
  ): Sweep {
    const logger = createLogger('silent', 'test');
    const connection =
      how.brokers === undefined
        ? this.app.app.get(KafkaConnection)
        : new KafkaConnection({ brokers: [how.brokers], clientId: 'test', logger });
    const positions = new LogPositions(connection);
    const clock = { now: () => HANDED_OFF_AT_MS + seconds * 1_000 };
    const writer = new PartitionWriter(connection);
    this.#writers.push(writer);
    const publishing = {
      outbox: how.dies === 'after writing' ? new DyingOutbox(this.store) : new AlertOutbox(this.store),
      connection,
      positions,
      appender: this.appender,
      writer,
      topics: this.topics,
      clock,
      logger,
    };
    return new Sweep({
      caughtUp: new CaughtUpPartitions({
        positions,
        projection: new ChatQueueProjection(this.store),
        folded: new FoldedInbox(),
        topics: this.topics,
        sequencerGroup: `${this.gapless.environment['TOPIC_PREFIX']}-${SEQUENCER_GROUP}`,
        patienceMs: how.patienceMs ?? 45_000,
        signal: new AbortController().signal,
      }),
      claims: new AlertClaims(this.store),
      publisher: how.dies === 'before writing' ? new DeadPublisher(publishing) : new AlertPublisher(publishing),
      mails: true,
      clock,
      logger,
      metrics: how.metrics ?? new Metrics(),
    });
  }
}
