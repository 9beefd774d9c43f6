import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseOrgId, systemClock, type OrgId, type Seq } from '#libs/domain';
import { EndpointRecords, FeedReader, SecretCipher, Store } from '#libs/postgres';
import { Appender, inboxRecord, type TopicNames } from '#libs/kafka-log';
import { TOPICS, type GaplessApp } from '#libs/platform';
import { Identifiers } from '#libs/runtime';
import { DispatcherModule } from '../../apps/dispatcher/src/dispatcher.module.js';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../support/receiver.js';

describe('the pipeline', () => {
  let gapless: GaplessUnderTest;
  let app: GaplessApp;
  let receiver: Receiver;
  const orgId = parseOrgId(randomUUID()) as OrgId;

  beforeAll(async () => {
    gapless = await aGapless();
    app = await gapless.start([SequencerModule, DispatcherModule, ProjectorModule]);
    receiver = await aReceiver();
  });

  afterAll(async () => {
    await gapless.stop();
    await receiver.close();
  });

  it('pushes and serves an event of the inbox with the same bytes', async () => {
    const identifiers = new Identifiers(systemClock);
    const records = new EndpointRecords(app.app.get(Store), app.app.get(SecretCipher));
    await records.create(
      {
        id: identifiers.endpointId(),
        orgId,
        name: null,
        description: null,
        url: receiver.url,
        events: ['ticket.created'],
        widgetIds: null,
        secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
        createdAt: new Date(),
        logEnd: 0,
      },
      50,
    );
    const topics = app.app.get<TopicNames>(TOPICS);
    const id = identifiers.eventId();
    await app.app.get(Appender).append([
      inboxRecord(
        topics.inbox,
        {
          id,
          event: 'ticket.created',
          occurredAt: new Date().toISOString(),
          orgId,
          widgetId: null,
          dataJson: '{"n": 1.0}',
        },
        { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
      ),
    ]);
    await eventually(() => {
      expect(receiver.received).toHaveLength(1);
    });
    const page = await eventually(async () => {
      const found = await new FeedReader(app.app.get(Store), 86_400_000).page(
        orgId,
        { since: 0 as Seq, limit: 10 },
        Date.now(),
      );
      expect(found.items).toHaveLength(1);
      return found;
    });
    expect(receiver.received[0]?.body.toString()).toBe(page.items[0]?.envelope);
    expect(page.items[0]?.envelope).toContain('"data":{"n": 1.0}');
    expect(receiver.received[0]?.headers).toMatchObject({ 'x-service-sequence': '1', 'x-service-attempt': '1' });
  });
});
