import { BurstWriters } from '../burst-writers.js';
import type { Fault } from '../fault.js';

const WRITERS = 16;
const EVENTS_PER_REQUEST = 450;
const GROUPS = 5;
const STALLS_PER_GROUP = 3;
/** Longer than a produce request is waited for, so it is made again, and the first one is written all the same. */
const STALL_MS = 3_500;
const APART_MS = { least: 40, most: 110 };
const BETWEEN_GROUPS_MS = 3_000;

/** Nothing of what is submitted here is submitted twice: every repeat of an id is made by Gapless itself. */
export const brokerStalls: Fault = {
  name: 'broker-stalls',
  description:
    `${WRITERS} writers of ${EVENTS_PER_REQUEST} events a request, each sent once; the only Kafka broker frozen ` +
    `${GROUPS * STALLS_PER_GROUP} times for ${STALL_MS / 1_000} s`,
  limitMs: 400_000,
  plan: { quietOrgs: 1, settleMs: 180_000 },
  async strike(world) {
    const [broker] = world.kafka.nodes;
    const [api] = world.stages.of('api');
    const [org] = world.traffic.quietOrgs;
    if (broker === undefined || api === undefined || org === undefined) throw new Error('this world lacks a part');
    const { ledger, serviceKey } = world.traffic;
    const writers = new BurstWriters(
      {
        writers: WRITERS,
        eventsPerRequest: EVENTS_PER_REQUEST,
        orgId: org.orgId,
        apiUrl: api.url,
        apiKey: serviceKey,
      },
      ledger,
      world.draw,
    );
    writers.start();
    try {
      for (let group = 1; group <= GROUPS; group++) {
        await world.pause(BETWEEN_GROUPS_MS);
        world.print(`stalls ${(group - 1) * STALLS_PER_GROUP + 1} to ${group * STALLS_PER_GROUP}`);
        for (let stall = 0; stall < STALLS_PER_GROUP; stall++) {
          broker.pause();
          try {
            await world.pause(STALL_MS);
          } finally {
            broker.resume();
          }
          await world.pause(APART_MS.least + world.draw(APART_MS.most - APART_MS.least));
        }
      }
      world.print(`${await writers.finish()} events sent`);
    } finally {
      await writers.close();
    }
  },
};
