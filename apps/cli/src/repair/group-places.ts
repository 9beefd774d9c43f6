import type { Position } from '#libs/domain';
import { checkPositions, parseAnchor, type KafkaConnection } from '#libs/kafka-log';
import { CliError } from '../cli-error.js';
import type { Installation } from '../installation.js';
import type { InboxResume } from './inbox-resume.js';

/** The place where a group has to resume, because its committed offset is no longer valid. */
export interface GroupPlace {
  readonly groupId: string;
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** The place where the sequencer resumes in a partition. */
interface InboxPlan {
  readonly partition: number;
  readonly inbox: InboxResume;
  /** Whether its checkpoint has another place. */
  readonly needsReset: boolean;
}

type Admin = Parameters<Parameters<KafkaConnection['withAdmin']>[0]>[0];

/**
 * Whether a consumer group is one of the installation with that prefix.
 * @param topics of all installations on the brokers: the prefix of another one may begin with this one, as in `gapless-eu`
 */
export function isGroupOf(topicPrefix: string, groupId: string, topics: readonly string[]): boolean {
  const prefixes = new Set(topics.map((topic) => topic.slice(0, topic.indexOf('.'))));
  const isOf = (prefix: string) => groupId.startsWith(`${prefix}-`);
  const isOfAnother = [...prefixes].some((prefix) => prefix.startsWith(`${topicPrefix}-`) && isOf(prefix));
  return isOf(topicPrefix) && !isOfAnother && !/^gapless-(reader|follower)-/.test(groupId);
}

async function ownGroups(admin: Admin, topicPrefix: string): Promise<readonly string[]> {
  const [{ groups }, topics] = await Promise.all([admin.listGroups(), admin.listTopics()]);
  return groups.map(({ groupId }) => groupId).filter((groupId) => isGroupOf(topicPrefix, groupId, topics));
}

async function withMembers(admin: Admin, groups: readonly string[]): Promise<readonly string[]> {
  if (groups.length === 0) return [];
  const described = await admin.describeGroups([...groups]);
  return described.groups.filter(({ members }) => members.length > 0).map(({ groupId }) => groupId);
}

/** @throws CliError when a stage runs */
export async function refuseIfRunning({ connection, config }: Installation): Promise<void> {
  refuseRunning(
    await connection.withAdmin(async (admin) => withMembers(admin, await ownGroups(admin, config.topicPrefix))),
  );
}

/** @param running what shows that processes run, such as groups that have members @throws CliError if there are any */
export function refuseRunning(running: readonly string[]): void {
  if (running.length === 0) return;
  throw new CliError(`processes are running (${running.join(', ')}): stop all of them, wait 10 s, then try again`);
}

/** Reads every group of the installation: which have members, and which offsets have to move. */
export async function readGroups(
  { connection, topics, config }: Installation,
  partitions: readonly InboxPlan[],
): Promise<{ readonly moved: readonly GroupPlace[]; readonly running: readonly string[] }> {
  const moved: GroupPlace[] = [];
  let running: readonly string[] = [];
  const plans = new Map(partitions.map((plan) => [plan.partition, plan]));
  await connection.withAdmin(async (admin) => {
    const own = await ownGroups(admin, config.topicPrefix);
    const existing = new Set(await admin.listTopics());
    running = await withMembers(admin, own);
    for (const groupId of own) {
      for (const { topic, partitions: committed } of await admin.fetchOffsets({ groupId })) {
        if (!existing.has(topic)) continue;
        const positions = new Map<number, Position>(
          committed
            .filter(({ offset }) => Number(offset) >= 0)
            .map((place) => [place.partition, { next: Number(place.offset), anchor: parseAnchor(place.metadata) }]),
        );
        const checked = await checkPositions(connection, topic, positions);
        for (const [partition, { verdict, end }] of checked) {
          const plan = plans.get(partition);
          const from = positions.get(partition)?.next ?? 0;
          let to = from;
          if (topic === topics.inbox && plan !== undefined) {
            if (verdict.kind === 'went back' || plan.needsReset) to = plan.inbox.offset;
          } else if (verdict.kind === 'went back') {
            // From the end on, the router routes the restored events again. The reconciler puts lost attempts back.
            to = end;
          }
          if (to !== from || verdict.kind === 'went back') moved.push({ groupId, topic, partition, from, to });
        }
      }
    }
  });
  return { moved, running };
}
