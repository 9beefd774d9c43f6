import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasReached, KafkaConnection, LogPositions, topicNames } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { OverdueDeliveries } from '#libs/postgres';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import { DispatcherModule } from '../../../apps/dispatcher/src/dispatcher.module.js';
import { ProjectorModule } from '../../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../../apps/sequencer/src/sequencer.module.js';
import { PushGaps } from '../../../libs/consumer/src/webhook/push-gaps.js';
import { aGapless } from '../../support/gapless.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import type { Receiver } from '../../support/receiver.js';
import { oneTo } from '../../support/sequence.js';
import { API_HTTP } from '../../support/stages.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';
import { attemptOf, envelopeOf, seqOf } from './support/pushes.js';

const HEADER = 'x-service-previous-sequence';
const [OWN_WIDGET, OTHER_WIDGET] = ['0f8fad5b-d9cb-469f-a165-70867728950e', '1f8fad5b-d9cb-469f-a165-70867728950e'];

let suite: DeliverySuite;
let dispatcher: GaplessApp;

async function startDispatcher(): Promise<void> {
  dispatcher = await suite.gapless.start([DispatcherModule], { name: 'dispatcher' });
}

/** Waits until what the dispatcher leaves behind is projected: the next one waits for it only for a while. */
async function stopDispatcher(): Promise<void> {
  await dispatcher.stop();
  const { config, app } = suite.app;
  const topic = topicNames(config.topicPrefix, config.retrySchedule).deliveries;
  const ends = await new LogPositions(app.get(KafkaConnection)).ends(topic);
  await eventually(async () => {
    const projected = await app.get(OverdueDeliveries).projectedUpTo('deliveries', topic);
    expect(hasReached(projected, ends)).toBe(true);
  });
}

beforeAll(async () => {
  const gapless = await aGapless({ RETRY_SCHEDULE: '1s,2s' });
  suite = new DeliverySuite(
    gapless,
    await gapless.start([ApiModule, SequencerModule, ProjectorModule], { http: API_HTTP }),
  );
  await startDispatcher();
});

afterAll(() => suite.stop());

/** Events of which an endpoint with a scope, a type and a filter gets some. */
function mixed(count: number) {
  return oneTo(count).map((nth) => ({
    event: nth % 5 === 0 ? 'ticket.updated' : 'ticket.created',
    widget_id: [OWN_WIDGET, OTHER_WIDGET, null][nth % 3]!,
    data: { priority: nth % 4 === 0 ? 'low' : 'high' },
  }));
}

/** What each attempt of each event said of the event before it. */
function previousBySeq({ receiver }: Subscribed): ReadonlyMap<number, readonly (number | undefined)[]> {
  const all = new Map<number, (number | undefined)[]>();
  for (const push of receiver.received) {
    const value = push.headers[HEADER];
    all.set(seqOf(push), [...(all.get(seqOf(push)) ?? []), value === undefined ? undefined : Number(value)]);
  }
  return all;
}

/** The deliveries, once so many have succeeded and the feed has their events, as a replay needs them. */
async function delivered({ operator, endpoint }: Subscribed, count: number) {
  return eventually(async () => {
    const found = await operator.deliveries(endpoint.id);
    expect(found.filter(({ status }) => status === 'delivered')).toHaveLength(count);
    // The feed is projected beside the delivery log.
    expect((await operator.delivery(endpoint.id, found.at(-1)!.id)).envelope).not.toBeNull();
    return found;
  });
}

/** Fails the first attempt of each third event. */
const failsAtTimes: Receiver['answer'] = (_request, response, push) =>
  response.writeHead(seqOf(push) % 3 === 0 && attemptOf(push) === 1 ? 500 : 200).end();

describe('an endpoint with previous_sequence', () => {
  it('names the event before each one that was for it, across a restart, in each attempt and each replay', async () => {
    const scope = { widget_ids: [OWN_WIDGET], filter: 'event.data.priority != "low"' };
    const to = await suite.aSubscriber({ ...scope, previous_sequence: true }, failsAtTimes);
    expect(to.endpoint).toMatchObject({ previous_sequence: true });
    const isFor = ({ event, widget_id, data }: ReturnType<typeof mixed>[number]) =>
      event === 'ticket.created' && widget_id !== OTHER_WIDGET && data.priority !== 'low';
    const events = mixed(60);
    await to.operator.emit(...events.slice(0, 20));
    await delivered(to, events.slice(0, 20).filter(isFor).length);
    await to.operator.emit(...events.slice(20, 30));
    await stopDispatcher();
    await to.operator.emit(...events.slice(30, 50));
    await startDispatcher();
    await delivered(to, events.slice(0, 50).filter(isFor).length);
    await to.operator.emit(...events.slice(50));
    const wanted = events.flatMap((event, nth) => (isFor(event) ? [nth + 1] : []));
    const deliveries = await delivered(to, wanted.length);
    const last = deliveries.at(-1)!;
    await to.operator.replay(to.endpoint.id, last.id);
    await eventually(() => {
      expect(to.receiver.received.filter((push) => seqOf(push) === last.seq).length).toBeGreaterThan(1);
    });

    const said = previousBySeq(to);
    expect([...said.keys()].toSorted((one, other) => one - other)).toEqual(wanted);
    for (const [nth, seq] of wanted.entries()) {
      expect([seq, ...new Set(said.get(seq))]).toEqual([seq, wanted[nth - 1] ?? 0]);
    }
    const feed = new Map((await to.operator.api.feed()).map((envelope) => [envelope.seq, envelope]));
    for (const push of to.receiver.received) expect(feed.get(seqOf(push))).toEqual(envelopeOf(push));

    const gaps = new PushGaps();
    gaps.settled(0);
    const lost = wanted[5]!;
    for (const push of to.receiver.received) {
      if (seqOf(push) !== lost) gaps.received(seqOf(push), Number(push.headers[HEADER]));
    }
    expect(gaps.gaps).toEqual([{ after: wanted[4], before: wanted[6], missing: lost }]);
    const { request } = await to.operator.delivery(to.endpoint.id, last.id);
    expect(request).toMatchObject({ headers: { [HEADER]: String(wanted.at(-2)) } });
  });

  it('names nothing with events of before, and begins with the next one', async () => {
    const to = await suite.aSubscriber();
    await to.operator.emit({ event: 'ticket.created', data: {} }, { event: 'ticket.created', data: {} });
    await delivered(to, 2);
    await to.operator.change(to.endpoint.id, { previous_sequence: true });
    await to.operator.emit({ event: 'ticket.created', data: {} });
    const [first] = await delivered(to, 3);
    await to.operator.replay(to.endpoint.id, first!.id);
    await eventually(() => {
      expect(previousBySeq(to)).toEqual(
        new Map([
          [1, [undefined, undefined]],
          [2, [undefined]],
          [3, [0]],
        ]),
      );
    });
    const test = await to.operator.test(to.endpoint.id);
    await eventually(() => {
      expect(previousBySeq(to).get(test.seq)).toEqual([3]);
    });
  });

  it('names nothing with what is recovered, which does not count for later events', async () => {
    const to = await suite.aSubscriber({ previous_sequence: true });
    const ticket = { event: 'ticket.created', data: {} };
    await to.operator.emit(ticket);
    await delivered(to, 1);
    await to.operator.change(to.endpoint.id, { is_active: false });
    await to.operator.emit(ticket, ticket);
    await eventually(async () => {
      expect(await to.operator.api.feed()).toHaveLength(3);
    });
    await to.operator.change(to.endpoint.id, { is_active: true });
    await eventually(async () => {
      const { matched } = await to.operator.recover(to.endpoint.id, { status: 'missed', since_seq: 1 });
      expect(matched).toBe(2);
    });
    await delivered(to, 3);
    await stopDispatcher();
    await startDispatcher();
    await to.operator.emit(ticket);
    await delivered(to, 4);
    expect(previousBySeq(to)).toEqual(
      new Map([
        [1, [0]],
        [2, [undefined]],
        [3, [undefined]],
        [4, [1]],
      ]),
    );
  });

  it('names the event before the first one of each request, whose events follow each other', async () => {
    const to = await suite.aSubscriber({ previous_sequence: true, ordering: { by: 'endpoint', batch: 10 } });
    await to.operator.emit(...mixed(40));
    await delivered(to, mixed(40).filter(({ event }) => event === 'ticket.created').length);
    let [before, requests] = [0, 0];
    for (const { body, headers } of to.receiver.received) {
      const { events } = JSON.parse(body.toString()) as { readonly events: readonly { readonly seq: number }[] };
      expect(headers[HEADER]).toBe(String(before));
      before = events.at(-1)!.seq;
      requests++;
    }
    expect(requests).toBeLessThan(32);
  });
});
