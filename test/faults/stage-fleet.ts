import { join } from 'node:path';
import { STAGE_NAMES, type StageName } from '#libs/runtime';
import { ROOT } from '../support/root.js';
import { aStageProcess, type StageProcess } from '../support/stage-process.js';
import type { StageOrder } from './in-stage.js';

const IN_STAGE = join(ROOT, 'dist/test/faults/in-stage.js');
/** A group waits for a dead member's session of 10 s before it goes on; on a busy machine the rest takes its time. */
const READY_MS = 120_000;

/** A process of a stage; when it is killed, another one takes its place. */
export class Member {
  #process: StageProcess;
  /** What the processes before this one have logged. */
  readonly #ended: StageProcess[] = [];

  private constructor(
    readonly stage: StageName,
    private readonly environment: Readonly<Record<string, string>>,
    process: StageProcess,
  ) {
    this.#process = process;
  }

  static async start(stage: StageName, environment: Readonly<Record<string, string>>): Promise<Member> {
    return new Member(stage, environment, await aStageProcess(stage, environment, { preload: IN_STAGE }));
  }

  get url(): string {
    return this.#process.url;
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** What this process and those before it have logged, a line each. */
  get log(): readonly string[] {
    return [...this.#ended, this.#process].flatMap(({ log }) => log.map((line) => JSON.stringify(line)));
  }

  /** The assignment of each time that this process joined the consumer group. */
  assignmentsOf(group: string): readonly Readonly<Record<string, readonly number[]>>[] {
    return this.#process.log
      .filter((line) => line['msg'] === 'consumer.joined' && line['group'] === group)
      .map(({ assignment }) => assignment as Record<string, readonly number[]>);
  }

  order(order: StageOrder): void {
    this.#process.send(order);
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process.signal(name);
  }

  async ready(): Promise<void> {
    await this.#process.ready(READY_MS);
  }

  /** Kills it and starts another one at once, which need not be ready when this returns. */
  async killAndReplace(): Promise<void> {
    this.#process.signal('SIGKILL');
    await this.#process.ended;
    await this.#replace();
  }

  /** Ends it in order, as an operator does who brings a new version, and waits until its successor is ready. */
  async restart(): Promise<void> {
    await this.#process.stop();
    await this.#replace();
    await this.ready();
  }

  /** Ends it; nobody takes its place until `comeBack`. */
  async leave(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#process.signal(signal);
    await this.#process.ended;
  }

  /** Starts it again after it has left, and waits until it is ready. */
  async comeBack(): Promise<void> {
    await this.#replace();
    await this.ready();
  }

  async end(): Promise<void> {
    this.#process.signal('SIGKILL');
    await this.#process.ended;
  }

  async #replace(): Promise<void> {
    this.#ended.push(this.#process);
    this.#process = await aStageProcess(this.stage, this.environment, { preload: IN_STAGE });
  }
}

/** The environment of a stage's processes. */
type StageEnvironment = (stage: StageName) => Readonly<Record<string, string>>;

/** The processes of all stages. */
export class StageFleet {
  private constructor(
    readonly members: Member[],
    private readonly environmentOf: StageEnvironment,
  ) {}

  /**
   * Starts them; they need not be ready when this returns.
   * @param instances how many processes of each stage; one where nothing is said
   */
  static async start(
    environmentOf: StageEnvironment,
    instances: Partial<Readonly<Record<StageName, number>>>,
  ): Promise<StageFleet> {
    const wanted = STAGE_NAMES.flatMap((stage) => Array.from({ length: instances[stage] ?? 1 }, () => stage));
    const members = await Promise.all(wanted.map((stage) => Member.start(stage, environmentOf(stage))));
    return new StageFleet(members, environmentOf);
  }

  /** Starts one more process of the stage, which need not be ready when this returns. */
  async add(stage: StageName): Promise<Member> {
    const member = await Member.start(stage, this.environmentOf(stage));
    this.members.push(member);
    return member;
  }

  of(stage: StageName): readonly Member[] {
    return this.members.filter((member) => member.stage === stage);
  }

  order(order: StageOrder): void {
    for (const member of this.members) member.order(order);
  }

  async ready(): Promise<void> {
    await Promise.all(this.members.map((member) => member.ready()));
  }

  async end(): Promise<void> {
    await Promise.all(this.members.map((member) => member.end()));
  }
}
