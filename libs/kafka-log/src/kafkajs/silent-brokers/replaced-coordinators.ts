import kafkajs from 'kafkajs';
import { consumerGroupMethods, type ConsumerGroup } from '../consumer-group.js';
import { wrap } from '../patching/patch.js';

/** How long a heartbeat waits for another broker to name the group's coordinator, milliseconds. */
const LOOK_MS = 1_000;
/** The protocol's number for coordinators of consumer groups. */
const CONSUMER_GROUP = 0;

/**
 * Lets members of groups go on with another coordinator after theirs gave no answer to a heartbeat. The cluster replaces
 * a frozen broker after 9 s. kafkajs keeps the coordinator of the last join until it crashes the consumer. If the new
 * coordinator no longer knows the member, it says so, and kafkajs joins again. It changes kafkajs for the whole thread.
 */
export function followCoordinators(): void {
  const looks = new WeakMap<ConsumerGroup, Promise<boolean>>();
  wrap(consumerGroupMethods(), 'heartbeat', (heartbeat) => {
    return async function (this: ConsumerGroup, options) {
      try {
        await heartbeat.call(this, options);
      } catch (error) {
        if (!isWithoutAnswer(error)) throw error;
        // Fetches and batches share a heartbeat, and so they share this.
        let look = looks.get(this);
        if (look === undefined) {
          look = lookForCoordinator(this).finally(() => looks.delete(this));
          looks.set(this, look);
        }
        if (!(await withinLimit(look))) throw error;
        await heartbeat.call(this, options);
      }
    };
  });
}

function isWithoutAnswer(error: unknown): boolean {
  // The connection to a broker is closed once the cluster no longer lists it.
  return error instanceof kafkajs.KafkaJSRequestTimeoutError || error instanceof kafkajs.KafkaJSConnectionError;
}

/** Takes over another coordinator of the group, if it has one. Never rejects. @returns whether it did */
async function lookForCoordinator(group: ConsumerGroup): Promise<boolean> {
  const { cluster, coordinator, offsetManager, groupId } = group;
  // The coordinator itself may be frozen, so it is not asked. Any of the others knows; the next look asks another.
  const others = cluster.getNodeIds().filter((nodeId) => Number(nodeId) !== coordinator.nodeId);
  const other = others[looksMade++ % others.length];
  if (other === undefined) return false;
  try {
    const asked = await cluster.findBroker({ nodeId: other });
    const found = await asked.findGroupCoordinator({ groupId, coordinatorType: CONSUMER_GROUP });
    if (found.coordinator.nodeId === coordinator.nodeId) return false;
    const broker = await cluster.findBroker({ nodeId: String(found.coordinator.nodeId) });
    // A join has found the coordinator by itself.
    if (group.coordinator !== coordinator || group.offsetManager !== offsetManager) return false;
    group.coordinator = broker;
    // Commits go there, too.
    offsetManager.coordinator = broker;
    return true;
  } catch {
    return false;
  }
}

let looksMade = 0;

/** Returns `false` if the look takes longer than a heartbeat should wait. The look continues. */
function withinLimit(look: Promise<boolean>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(false);
    }, LOOK_MS);
    void look.then((isFound) => {
      clearTimeout(timer);
      resolve(isFound);
    });
  });
}
