import { AssignerProtocol, type GroupMember, type PartitionAssigner } from 'kafkajs';
import type { Actor, VirtualTime } from '../engine/virtual-time.js';
import type { Trace } from '../engine/trace.js';
import { BrokerError } from './broker-errors.js';

export type Assignment = Readonly<Record<string, number[]>>;

export interface Joined {
  readonly memberId: string;
  readonly generation: number;
  readonly assignment: Assignment;
}

export interface JoinRequest {
  /** Empty for one that joins for the first time. */
  readonly memberId: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  /** Of a client that says itself which partitions it wants; without it, they are assigned by turns. */
  readonly assigner: PartitionAssigner | undefined;
}

export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string | null;
}

interface Member {
  readonly id: string;
  request: JoinRequest;
  lastSeenMs: number;
  answer: { resolve: (joined: Joined) => void; reject: (error: Error) => void } | null;
}

interface GroupDependencies {
  readonly time: VirtualTime;
  /** The broker: what the group does by itself happens to it. */
  readonly broker: Actor;
  readonly trace: Trace;
  readonly partitionsOf: (topic: string) => number;
  /** Has members that wait for records look at the group soon. */
  readonly onRebalance: (groupId: string) => void;
}

/** A consumer group as its coordinator keeps it. */
export class ConsumerGroup {
  readonly offsets = new Map<string, CommittedOffset>();
  readonly #members = new Map<string, Member>();
  #generation = 0;
  #isPreparing = false;
  #joins = 0;

  constructor(
    readonly id: string,
    private readonly use: GroupDependencies,
  ) {}

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  join(request: JoinRequest, answer: NonNullable<Member['answer']>): void {
    const known = this.#members.get(request.memberId);
    if (request.memberId !== '' && known === undefined) {
      answer.reject(new BrokerError('UNKNOWN_MEMBER_ID', false));
      return;
    }
    const nowMs = this.use.time.nowMs;
    const member = known ?? { id: `${this.id}-${++this.#joins}`, request, lastSeenMs: nowMs, answer: null };
    member.request = request;
    member.answer = answer;
    member.lastSeenMs = nowMs;
    this.#members.set(member.id, member);
    if (known === undefined) this.#watch(member);
    this.#prepare();
  }

  leave(memberId: string): void {
    if (this.#members.delete(memberId) && this.#members.size > 0) this.#prepare();
  }

  /** @throws BrokerError */
  heartbeat(memberId: string, generation: number): void {
    this.#check(memberId, generation).lastSeenMs = this.use.time.nowMs;
    if (this.#isPreparing) throw new BrokerError('REBALANCE_IN_PROGRESS', false);
  }

  /** @throws BrokerError for what is not committed by a member of this generation */
  commit(memberId: string, generation: number, offsets: ReadonlyMap<string, CommittedOffset>): void {
    this.#check(memberId, generation).lastSeenMs = this.use.time.nowMs;
    for (const [place, offset] of offsets) this.offsets.set(place, offset);
  }

  #check(memberId: string, generation: number): Member {
    const member = this.#members.get(memberId);
    if (member === undefined) throw new BrokerError('UNKNOWN_MEMBER_ID', false);
    if (generation !== this.#generation) throw new BrokerError('ILLEGAL_GENERATION', false);
    return member;
  }

  #prepare(): void {
    if (!this.#isPreparing) {
      this.#isPreparing = true;
      const generation = this.#generation;
      const patienceMs = Math.max(...[...this.#members.values()].map(({ request }) => request.rebalanceTimeoutMs));
      this.use.time.schedule(patienceMs, this.use.broker, () => {
        if (!this.#isPreparing || this.#generation !== generation) return;
        for (const member of [...this.#members.values()]) {
          if (member.answer !== null) continue;
          this.use.trace.note(`${member.id} has not joined again in time`);
          this.#members.delete(member.id);
        }
        this.#complete();
      });
      this.use.onRebalance(this.id);
    }
    if ([...this.#members.values()].every(({ answer }) => answer !== null)) this.#complete();
  }

  #complete(): void {
    this.#isPreparing = false;
    this.#generation++;
    const generation = this.#generation;
    const members = [...this.#members.values()];
    const assignments = this.#assign(members);
    for (const member of members) {
      member.lastSeenMs = this.use.time.nowMs;
      member.answer?.resolve({ memberId: member.id, generation, assignment: assignments.get(member.id) ?? {} });
      member.answer = null;
    }
  }

  #assign(members: readonly Member[]): ReadonlyMap<string, Assignment> {
    const assigner = members[0]?.request.assigner;
    if (assigner !== undefined) return this.#assignByClient(members, assigner);
    const assignments = new Map<string, Record<string, number[]>>(members.map(({ id }) => [id, {}]));
    let turn = 0;
    for (const topic of new Set(members.flatMap(({ request }) => request.topics))) {
      for (let partition = 0; partition < this.use.partitionsOf(topic); partition++) {
        const member = members[turn++ % members.length];
        const assignment = member === undefined ? undefined : assignments.get(member.id);
        if (assignment !== undefined) (assignment[topic] ??= []).push(partition);
      }
    }
    return assignments;
  }

  /** A reader that has a group of its own, and says which partitions it wants. */
  #assignByClient(members: readonly Member[], assigner: PartitionAssigner): ReadonlyMap<string, Assignment> {
    const asked = members.map(({ id }): GroupMember => ({ memberId: id, memberMetadata: Buffer.alloc(0) }));
    const given = new Map<string, Assignment>();
    const assigning = assigner({ cluster: undefined as never, groupId: this.id, logger: undefined as never });
    // The assigners of this code need nothing that they would have to wait for.
    void assigning.assign({ members: asked, topics: [] }).then((assignments) => {
      for (const { memberId, memberAssignment } of assignments) {
        const { assignment } = AssignerProtocol.MemberAssignment.decode(memberAssignment) ?? { assignment: {} };
        Object.assign(given.get(memberId) ?? {}, assignment);
      }
    });
    for (const { id } of members) given.set(id, {});
    return given;
  }

  /** A member that is not heard of for its session's time is given up. */
  #watch(member: Member): void {
    const { sessionTimeoutMs } = member.request;
    const dueInMs = member.lastSeenMs + sessionTimeoutMs - this.use.time.nowMs;
    this.use.time.schedule(dueInMs, this.use.broker, () => {
      if (this.#members.get(member.id) !== member) return;
      if (member.answer !== null || this.use.time.nowMs < member.lastSeenMs + sessionTimeoutMs) {
        if (member.answer !== null) member.lastSeenMs = this.use.time.nowMs;
        this.#watch(member);
        return;
      }
      this.use.trace.note(`the session of ${member.id} has expired`);
      this.#members.delete(member.id);
      if (this.#members.size > 0) this.#prepare();
    });
  }
}
