import type { JsonObject } from '#libs/domain';
import { topicNames, topicPlans, type TopicPlan } from '#libs/kafka-log';
import { DAY_MS } from '#libs/runtime';
import { LOG_MESSAGES } from './messages.js';

/** The default settings of Gapless' topics. */
const DEFAULTS = { partitions: 12, retentionMs: 30 * DAY_MS, retrySchedule: [] };
const NAMES = topicNames('{prefix}', DEFAULTS.retrySchedule);
const PLANS = new Map(topicPlans(NAMES, DEFAULTS).map((plan) => [plan.topic, plan]));

interface ChannelSketch {
  readonly title: string;
  readonly description: string;
  readonly messages: readonly string[];
}

function topicBinding({ partitions, retentionMs }: TopicPlan): JsonObject {
  return {
    kafka: {
      partitions,
      topicConfiguration: { 'cleanup.policy': ['delete'], 'retention.ms': retentionMs },
      bindingVersion: '0.5.0',
    },
  };
}

function channel(topic: string, { title, description, messages }: ChannelSketch): JsonObject {
  const plan = PLANS.get(topic);
  if (plan === undefined) throw new RangeError(`no plan for ${topic}`);
  return {
    address: topic,
    title,
    description,
    servers: [{ $ref: '#/servers/kafka' }],
    parameters: { prefix: { $ref: '#/components/parameters/prefix' } },
    messages: Object.fromEntries(messages.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
    bindings: topicBinding(plan),
  };
}

/** `channels` of the document: one for each topic that others may use. */
export const CHANNELS: JsonObject = {
  log: channel(NAMES.log, {
    title: 'The log',
    description:
      'Every event of every organization, in the order of its `seq`. All events of an organization are in one partition. ' +
      'Ignore a record whose `seq` is not above the last that you have seen of its organization: it is a byte-identical repeat.',
    messages: LOG_MESSAGES,
  }),
  inbox: channel(NAMES.inbox, {
    title: 'The inbox',
    description: 'Events that services submit. They are validated as over HTTP, and appended to the log in this order.',
    messages: ['submission'],
  }),
  deadLetter: channel(NAMES.deadLetter, {
    title: 'Dead letters',
    description: 'Invalid submissions: the original record, with the reason in its headers.',
    messages: ['deadLetter'],
  }),
  staffAlerts: channel(NAMES.staffAlerts, {
    title: 'Staff alerts',
    description:
      'Chats without an answer after a threshold, for services that alert staff. The topic may hold an alert twice: ' +
      'ignore an `alert_id` that you have seen.',
    messages: ['staffAlert'],
  }),
};

function operation(action: 'send' | 'receive', name: string, summary: string): JsonObject {
  return { action, channel: { $ref: `#/channels/${name}` }, summary };
}

/** `operations` of the document: those that Gapless performs. */
export const OPERATIONS: JsonObject = {
  appendToLog: operation('send', 'log', 'Gapless appends each event once; you read.'),
  takeSubmissions: operation('receive', 'inbox', 'You produce; Gapless reads.'),
  setAside: operation('send', 'deadLetter', 'Gapless sets aside what it cannot read, and goes on.'),
  alertStaff: operation('send', 'staffAlerts', 'Gapless alerts staff about a waiting chat.'),
};
