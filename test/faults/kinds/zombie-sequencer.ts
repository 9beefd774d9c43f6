import { execFileSync } from 'node:child_process';
import type { Fault } from '../fault.js';
import type { Member } from '../stage-fleet.js';
import type { World } from '../world.js';

/** The session lasts 10 s; somebody else has the partitions a little later. */
const TAKEOVER_MS = 30_000;

/**
 * A sequencer is frozen at the worst moment there is, between its last look at its lease and the write to its socket,
 * and comes back to life when another one has long written the same events. What it still writes then is read by nobody.
 */
export const zombieSequencer: Fault = {
  name: 'zombie-sequencer',
  description: 'each of two sequencers frozen in the middle of a write until the other has taken over, then let go on',
  limitMs: 270_000,
  plan: { instances: { sequencer: 2 } },
  async strike(world) {
    const [first, second] = world.stages.of('sequencer');
    if (first === undefined || second === undefined) throw new Error('there are not two sequencers');
    await bringBackFromTheDead(world, first, second);
    await bringBackFromTheDead(world, second, first);
  },
  missed: ({ skipped }) => (skipped > 0 ? undefined : 'no frozen sequencer wrote late, so nothing was put to the test'),
};

async function bringBackFromTheDead(world: World, frozen: Member, successor: Member): Promise<void> {
  const group = world.groupNamed('sequencer');
  const isStopped = () => stateOf(frozen.pid).startsWith('T');
  const joinedBefore = successor.assignmentsOf(group).length;
  frozen.order({ kind: 'freeze_before_write', topic: world.logTopic });
  await world.until(isStopped, 'the freeze');
  try {
    world.print('a sequencer is frozen before a write; waiting for the other one to take over');
    await world.until(() => successor.assignmentsOf(group).length > joinedBefore, 'the takeover', TAKEOVER_MS);
    await world.traffic.untilFlowing();
  } finally {
    frozen.signal('SIGCONT');
  }
  world.print('it goes on');
  const joined = frozen.assignmentsOf(group).length;
  await world.until(() => frozen.assignmentsOf(group).length > joined, 'its return to the group', TAKEOVER_MS);
  await world.traffic.untilFlowing();
}

/** As `ps` names it: T is stopped. */
function stateOf(pid: number): string {
  return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
}
