import { afterEach, expect, it, jest } from '@jest/globals';
import { mcpError, type EndpointId, type EventCursors, type EventFilters, type EventId, type Seq } from '#libs/domain';
import { partitionOf, type Appender, type NewRecord, type TopicNames } from '#libs/kafka-log';
import type { LateEvent, LateSubscription, McpNotice, McpUpkeep, Store } from '#libs/postgres';
import type { Config, Logger } from '#libs/runtime';
import { anEventId, anOrgId } from '../../../../../test/support/ids.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import type { LogMoments } from '../../webhooks/log-moments.js';
import type { CallbackClients, ControlMessage } from './callback-clients.js';
import { SubscriptionUpkeep } from './subscription-upkeep.js';

const NOW_MS = Date.UTC(2026, 5, 1, 12);
const PARTITIONS = 12;

let upkeep: SubscriptionUpkeep;
let rounds: number;

afterEach(async () => {
  jest.restoreAllMocks();
  await upkeep.beforeApplicationShutdown();
});

function aLateSubscription(endpointId: string): LateSubscription {
  return {
    id: `sub_${endpointId}`,
    orgId: anOrgId(),
    endpointId: endpointId as EndpointId,
    filter: null,
    caughtUpSeq: 0 as Seq,
    catchUpOffset: 1,
    catchUpToSeq: 1 as Seq,
  };
}

/** One whose place in the log is not known yet. */
function aNewSubscription(endpointId: string): LateSubscription {
  return { ...aLateSubscription(endpointId), catchUpOffset: null, catchUpToSeq: null };
}

function aLateEvent(): LateEvent {
  const eventId: EventId = anEventId();
  const envelope = Buffer.from('{}');
  return { eventId, event: 'ticket.created', seq: 1 as Seq, createdAtMs: NOW_MS, envelope, delivery: null };
}

function anEndedSubscription(attempt = 1): McpNotice {
  return {
    subscriptionId: 'sub_ended',
    orgId: anOrgId(),
    endpointId: 'whe_ended' as EndpointId,
    url: 'https://example.com/hook',
    secrets: ['whsec_secret'],
    messageId: `msg_terminated_${attempt}`,
    attempt,
    content: { error: mcpError('Forbidden', 'The API key is revoked or expired.') },
  };
}

interface Given {
  readonly late?: readonly LateSubscription[];
  readonly notices?: readonly McpNotice[];
  readonly append?: (records: readonly NewRecord[]) => Promise<void>;
  readonly endOf?: () => Promise<number>;
}

/** Starts the upkeep of subscriptions whose callbacks refuse everything. */
function started({
  late = [],
  notices = [],
  append = () => Promise.resolve(),
  endOf = () => Promise.resolve(0),
}: Given) {
  rounds = 0;
  const sent: ControlMessage[] = [];
  const noticed: string[] = [];
  const caughtUp: string[] = [];
  const failures: unknown[] = [];
  const none = () => Promise.resolve(0);
  const due = [...notices];
  const records = {
    exclusively: (act: () => Promise<void>) => act(),
    end: none,
    expire: none,
    suspend: none,
    advance: none,
    catchUpAgain: none,
    late: () => {
      rounds++;
      return Promise.resolve(late);
    },
    lateEvents: () => Promise.resolve([aLateEvent()]),
    caughtUp: ({ endpointId }: LateSubscription) => Promise.resolve(caughtUp.push(endpointId)),
    claimNotices: () => Promise.resolve(due.splice(0)),
    noticed: ({ messageId }: McpNotice) => Promise.resolve(noticed.push(messageId)),
  };
  const callbacks = {
    send: (message: ControlMessage) => {
      sent.push(message);
      return Promise.resolve({ kind: 'failed', error: 'http_status: 500' });
    },
  };
  upkeep = new SubscriptionUpkeep(
    records as unknown as McpUpkeep,
    {} as Store,
    callbacks as unknown as CallbackClients,
    {} as EventCursors,
    { endOf } as unknown as LogMoments,
    { append } as unknown as Appender,
    {} as EventFilters,
    { deliveries: 'deliveries', attempts: 'attempts' } as TopicNames,
    { partitions: PARTITIONS, retentionMs: 86_400_000 } as Config,
    { now: () => NOW_MS },
    { info: () => undefined, warn: ({ err }: { err: unknown }) => failures.push(err) } as unknown as Logger,
  );
  upkeep.onApplicationBootstrap();
  return { sent, noticed, caughtUp, failures };
}

it('sends messages and catches others up while a partition takes no records, which it waits for once', async () => {
  const stuck = 'whe_stuck';
  const partition = partitionOf(stuck, PARTITIONS);
  const names = Array.from({ length: 100 }, (_, n) => `whe_${n}`);
  const beside = names.find((name) => partitionOf(name, PARTITIONS) === partition)!;
  const other = names.find((name) => partitionOf(name, PARTITIONS) !== partition)!;
  let waits = 0;
  const append = (records: readonly NewRecord[]) => {
    if (records.every(({ key }) => partitionOf(String(key), PARTITIONS) !== partition)) return Promise.resolve();
    waits++;
    return Promise.reject(new Error('too few replicas'));
  };
  const late = [stuck, beside, other].map(aLateSubscription);
  const { sent, caughtUp, failures } = started({ late, append, notices: [anEndedSubscription()] });
  await eventually(() => {
    expect(caughtUp[0]).toBe(other);
  });
  expect(sent.map(({ envelope }) => envelope.type)).toEqual(['terminated']);
  expect(caughtUp).not.toContain(beside);
  expect(waits).toBe(caughtUp.length);
  expect(failures[0]).toEqual(new Error('too few replicas'));
});

it('catches others up while the end of a partition of the log cannot be read, which it asks for once', async () => {
  let asked = 0;
  const endOf = () => {
    asked++;
    return Promise.reject(new Error('no answer'));
  };
  const orgId = anOrgId();
  const ofOne = Array.from({ length: 50 }, (_, n) => ({ ...aNewSubscription(`whe_${n}`), orgId }));
  const { caughtUp, failures } = started({ late: [...ofOne, aLateSubscription('whe_ready')], endOf });
  await eventually(() => {
    expect(caughtUp[0]).toBe('whe_ready');
  });
  expect(caughtUp).toHaveLength(rounds);
  expect(asked).toBe(rounds);
  expect(failures).toHaveLength(rounds);
});

it('ends the catch-up of a round after a few seconds of failures', async () => {
  let [failed, elapsedMs] = [0, 0];
  jest.spyOn(performance, 'now').mockImplementation(() => elapsedMs);
  const append = () => {
    failed++;
    elapsedMs += 3_000;
    return Promise.reject(new Error('too few replicas'));
  };
  const late = Array.from({ length: 50 }, (_, n) => aLateSubscription(`whe_${n}`));
  started({ late, append });
  await eventually(() => {
    expect(failed).toBeGreaterThan(0);
  });
  expect(failed).toBe(2 * rounds);
});

it('gives a message up after its fourth attempt, and makes no fifth', async () => {
  const { sent, noticed } = started({ notices: [3, 4, 5].map(anEndedSubscription) });
  await eventually(() => {
    expect(noticed.toSorted()).toEqual(['msg_terminated_4', 'msg_terminated_5']);
  });
  expect(sent.map(({ id }) => id)).toEqual(['msg_terminated_3', 'msg_terminated_4']);
});
