import { setTimeout as delay } from 'node:timers/promises';
import { askKafka, RequestBody, type AnswerReader } from './kafka-request.js';

const METADATA = { api: 3, version: 5 };
const LIST_GROUPS = { api: 16, version: 2 };
const DESCRIBE_GROUPS = { api: 15, version: 1 };
const LEAVE_GROUP = { api: 13, version: 3 };

const OFFSETS_TOPIC = '__consumer_offsets';
/** Group names, one for each of the four partitions of the offsets topic. */
const PROBES = ['a', 'b', 'c', 'd'];
const LOADED_WITHIN_MS = 10_000;
const ASK_EVERY_MS = 25;

interface Group {
  readonly name: string;
  readonly error: number;
  readonly members: readonly string[];
}

/**
 * Makes brokers that were just started forget the former members of their groups. After a kill of Gapless and its
 * brokers those members are gone. Others would have to wait for their sessions to expire.
 * @returns the number of forgotten members
 */
export async function forgetMembers(o: {
  /** The addresses of all brokers: `127.0.0.1:<port>,…`. */
  readonly brokers: string;
  readonly signal?: AbortSignal;
}): Promise<number> {
  const ports = o.brokers.split(',').map((broker) => Number(broker.split(':')[1]));
  if (!(await hasGroups(ports[0] ?? 0))) return 0;
  await groupsAreLoaded(ports, o.signal);
  const forgotten = await Promise.all(ports.map(forgetMembersAt));
  return forgotten.reduce((sum, count) => sum + count, 0);
}

async function hasGroups(port: number): Promise<boolean> {
  const body = new RequestBody().int32(1).text(OFFSETS_TOPIC).int8(0);
  const answer = await askKafka(port, { ...METADATA, body });
  skipThrottleTime(answer);
  answer.list(() => {
    answer.int32(); // node id
    answer.text(); // host
    answer.int32(); // port
    answer.text(); // rack
  });
  answer.text(); // cluster id
  answer.int32(); // controller
  const [error] = answer.list(() => answer.int16());
  return error === 0;
}

/**
 * Waits until all groups are loaded. Until then, a broker that has just become the leader of their partition reports
 * none.
 */
async function groupsAreLoaded(ports: readonly number[], signal: AbortSignal | undefined): Promise<void> {
  const deadline = performance.now() + LOADED_WITHIN_MS;
  const missing = new Set(PROBES);
  for (;;) {
    for (const port of ports) {
      const known = await describe(port, [...missing]);
      for (const { name, error } of known) if (error === 0) missing.delete(name);
    }
    if (missing.size === 0) return;
    if (performance.now() > deadline) throw new Error('Kafka does not load its groups');
    await delay(ASK_EVERY_MS, undefined, signal === undefined ? {} : { signal });
  }
}

/** Removes the members of the groups that this broker coordinates. Returns how many there were. */
async function forgetMembersAt(port: number): Promise<number> {
  let forgotten = 0;
  for (const { name, members } of await describe(port, await groupsAt(port))) {
    if (members.length === 0) continue;
    const body = new RequestBody().text(name).int32(members.length);
    for (const member of members) body.text(member).text(null);
    const answer = await askKafka(port, { ...LEAVE_GROUP, body });
    skipThrottleTime(answer);
    const error = answer.int16();
    if (error !== 0) throw new Error(`Kafka did not forget the members of ${name}: error ${error}`);
    forgotten += members.length;
  }
  return forgotten;
}

async function groupsAt(port: number): Promise<readonly string[]> {
  const answer = await askKafka(port, { ...LIST_GROUPS, body: new RequestBody() });
  skipThrottleTime(answer);
  const error = answer.int16();
  if (error !== 0) throw new Error(`Kafka did not list its groups: error ${error}`);
  return answer.list(() => {
    const name = answer.text();
    answer.text(); // the protocol
    return name;
  });
}

async function describe(port: number, names: readonly string[]): Promise<readonly Group[]> {
  if (names.length === 0) return [];
  const body = new RequestBody().int32(names.length);
  for (const name of names) body.text(name);
  const answer = await askKafka(port, { ...DESCRIBE_GROUPS, body });
  skipThrottleTime(answer);
  return answer.list(() => {
    const error = answer.int16();
    const name = answer.text();
    for (let text = 0; text < 3; text++) answer.text(); // state, type of the protocol, protocol
    const members = answer.list(() => {
      const member = answer.text();
      answer.text(); // client id
      answer.text(); // where it is
      answer.skipBytes(); // metadata
      answer.skipBytes(); // assignment
      return member;
    });
    return { name, error, members };
  });
}

function skipThrottleTime(answer: AnswerReader): void {
  answer.int32();
}
