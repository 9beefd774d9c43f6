import { once } from 'node:events';
import { connect } from 'node:net';
import { Kafka, logLevel } from 'kafkajs';
import { eventually } from './infrastructure/eventually.js';

const LEAVE_GROUP_API = 13;
const LEAVE_GROUP_VERSION = 3;

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
}

/** The ids of the group's members, as the broker knows them. */
export async function membersOf(brokers: string, groupId: string): Promise<readonly string[]> {
  const admin = new Kafka({ clientId: 'test', brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const { groups } = await admin.describeGroups([groupId]);
  await admin.disconnect();
  return groups[0]?.members.map(({ memberId }) => memberId) ?? [];
}

/**
 * Makes the broker forget the members of a group at once, as it does with those that it has not heard from for as long
 * as their session lasts: a LeaveGroup request in their names, behind their backs.
 */
export async function forgetMembers(brokers: string, groupId: string): Promise<void> {
  const members = await membersOf(brokers, groupId);
  const request = Buffer.concat([
    int16(LEAVE_GROUP_API),
    int16(LEAVE_GROUP_VERSION),
    int32(1), // correlation id
    text('test'),
    text(groupId),
    int32(members.length),
    ...members.flatMap((member) => [text(member), int16(-1)]), // no instance id
  ]);
  const [host = '', port = ''] = brokers.split(',')[0]!.split(':');
  const socket = connect(Number(port), host);
  await once(socket, 'connect');
  socket.write(Buffer.concat([int32(request.length), request]));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  // Size, correlation id and throttle time come before the error code.
  if (answer.readInt16BE(12) !== 0) throw new Error(`LeaveGroup was refused with ${answer.readInt16BE(12)}`);
}

/** Makes the only member of a group join again, and waits until it has. */
export async function joinAgain(brokers: string, groupId: string): Promise<void> {
  const before = await membersOf(brokers, groupId);
  await forgetMembers(brokers, groupId);
  await eventually(
    async () => {
      const members = await membersOf(brokers, groupId);
      if (members.length !== 1 || before.includes(members[0]!)) throw new Error(`${groupId} has not joined again`);
    },
    { timeoutMs: 40_000 },
  );
}
