import { NO_ORDERING, type DueAttempt, type Ordering, type OrgId } from '#libs/domain';
import { forgetListeners, partitionOf, topicNames, topicPlans } from '#libs/kafka-log';
import { loadConfig, type Config } from '#libs/runtime';
import { Network } from '../engine/network.js';
import { Random } from '../engine/random.js';
import { liveIn } from '../engine/take-over-time.js';
import { Trace } from '../engine/trace.js';
import { Actor, VirtualTime } from '../engine/virtual-time.js';
import { Broker } from '../kafka/broker.js';
import { simulatedKafka } from '../kafka/simulated-kafka.js';
import { Postgres } from '../postgres/postgres.js';
import { Operator } from './operator.js';
import { Customers, type Mood } from './customers.js';
import { EventSource, TICKET_TYPES } from './event-source.js';
import { FAULT_NAMES, FaultPlan, type FaultName } from './faults.js';
import { Ledger, type Pace, type SeqFilter } from './ledger.js';
import type { LogLine } from './recorded-logger.js';
import { SimulatedProcess, type StageName } from './simulated-process.js';
import { HttpSubmitter, InboxProducer, type SubmittersDependencies } from './submitters.js';
import { unsettled, judge, type Evidence } from './verdict.js';

const ALL_STAGES: readonly StageName[] = ['api', 'sequencer', 'dispatcher', 'projector'];
/** The interval of sweeps in some histories: longer than they last, so that a chat relies on the sweep at its threshold. */
const RARE_SWEEPS_MS = 60_000;
/** How late an alert may be where nothing goes wrong, with timers as coarse as they are here. */
const PROMPT_MS = 1_000;

/** How long everything may take to settle once the last fault is over. */
const SETTLE_MS = 900_000;
/** More than may be in flight to one endpoint. */
const BACKLOG = 300;
const LOOK_EVERY_MS = 500;
/** How often it has to look settled: where offsets were lost, they do not say whether it is. */
const LOOKS = 2;
const LOOKS_IN_DOUBT = 60;
/** How soon a dispatcher begins no more attempts of a partition that it has lost, with timers as coarse as they are here. */
const WITHDRAWN_MS = 1_000;
/** More events than any history has that ends. */
const MOST_STEPS = 400_000;

/** Settings that no history changes. Its servers and its key are never used. */
const DEFAULTS = loadConfig({
  DATABASE_URL: 'postgres://simulated',
  KAFKA_BROKERS: 'simulated:9092',
  SECRET_ENCRYPTION_KEYS: `simulated:${Buffer.alloc(32).toString('base64')}`,
});

export interface HistoryOptions {
  readonly seed: number;
  /** Is handed each line of what happens; `null` if nobody wants to know. */
  readonly onTrace: ((line: string) => void) | null;
  /** The faults to draw from. */
  readonly faults?: readonly FaultName[];
}

export interface HistoryResult {
  readonly seed: number;
  /** Broken promises; none if all were kept. */
  readonly problems: readonly string[];
  readonly events: number;
  readonly steps: number;
  readonly virtualMs: number;
  readonly digest: string;
}

/** Log lines that report something that must not happen. */
const ALARMING = new Set([
  'projector.gap',
  'projector.mismatch',
  'projection.records_lost',
  'attempt.interrupted',
  'start failed',
]);

/** One history: a Gapless that is used, struck by faults and then left alone, all as its seed has it. */
export class History {
  readonly #time = new VirtualTime();
  readonly #plan: Random;
  readonly #paces: Random;
  readonly #filters: Random;
  readonly #orders: Random;
  readonly #urgencies: Random;
  readonly #chains: Random;
  readonly #chats: Random;
  /** Whether chats wait in the history. */
  readonly #hasChats: boolean;
  readonly #trace: Trace;
  readonly #ledger = new Ledger();
  readonly #network: Network;
  readonly #broker: Broker;
  readonly #postgres: Postgres;
  readonly #customers: Customers;
  readonly #source: EventSource;
  readonly #config: Config;
  readonly #processes: SimulatedProcess[] = [];
  readonly #orgIds: readonly OrgId[];
  readonly #chance = new Actor('chance');
  #started = 0;
  readonly #operators: Operator[] = [];

  constructor(private readonly options: HistoryOptions) {
    const { seed } = options;
    const stream = (nth: number) => new Random(seed, nth);
    this.#plan = stream(1);
    this.#paces = stream(7);
    this.#filters = stream(8);
    this.#orders = stream(9);
    this.#urgencies = stream(10);
    this.#chains = stream(12);
    this.#chats = stream(11);
    this.#hasChats = this.#chats.chance(0.4);
    const time = this.#time;
    liveIn({ time, random: stream(2) });
    this.#trace = new Trace(time, options.onTrace);
    const trace = this.#trace;
    this.#network = new Network(time, stream(3), trace);
    this.#broker = new Broker({ time, random: stream(4), network: this.#network, trace });
    const onUnknown = ({ message }: Error) => {
      this.#ledger.breaches.push(message);
      time.end();
    };
    this.#postgres = new Postgres({ time, network: this.#network, trace, onUnknown });
    this.#source = new EventSource(stream(5));
    this.#postgres.tables.onEndpoint = ({ id, org_id: orgId, url }) => {
      this.#ledger.created({ id, orgId, url });
    };
    this.#postgres.tables.onAutoDisabled = (id) => {
      this.#ledger.autoDisabled(id);
    };
    this.#config = {
      ...DEFAULTS,
      topicPrefix: 'sim',
      partitions: this.#plan.int(2, 3),
      retrySchedule: [1_000, 3_000, 8_000],
      deliveryTimeoutMs: 2_000,
      autoDisableAfter: this.#plan.int(5, 30),
      retentionMs: 30 * 86_400_000,
      sweepIntervalMs: this.#chats.chance(0.5) ? RARE_SWEEPS_MS : 2_000,
      smtpUrl: null,
      maxEndpointsPerOrg: 1_000,
      maxApiKeysPerOrg: 1_000,
      maxCursorsPerOrg: 1_000,
      maxMcpSubscriptionsPerOrg: 1_000,
    };
    this.#customers = new Customers({
      time,
      random: stream(6),
      answers: stream(10),
      network: this.#network,
      trace,
      ledger: this.#ledger,
      timeoutMs: this.#config.deliveryTimeoutMs,
    });
    this.#orgIds = Array.from({ length: this.#plan.int(1, 4) }, () => this.#anOrgId());
  }

  async run(): Promise<HistoryResult> {
    const { seed } = this.options;
    const topics = topicNames(this.#config.topicPrefix, this.#config.retrySchedule);
    this.#broker.create(topicPlans(topics, this.#config));
    const plan = this.#plan;
    const endMs = plan.between(4_000, plan.chance(0.3) ? 25_000 : 12_000);
    const calmMs = endMs + 2_000;
    this.#begin();
    const events = this.#planLoad(endMs);
    if (this.#hasChats) this.#planChats(endMs);
    this.#planEndpoints(endMs);
    const faults = this.options.faults ?? FAULT_NAMES;
    // Most faults come alone or in small company; some histories have none.
    const struck = Array.from({ length: faults.length === 0 ? 0 : plan.int(0, 3) * plan.int(0, 4) }, () =>
      plan.pick(faults),
    );
    const faultPlan = new FaultPlan({
      time: this.#time,
      random: plan,
      trace: this.#trace,
      network: this.#network,
      broker: this.#broker,
      postgres: this.#postgres,
      processes: () => this.#processes.filter(({ isRunning }) => isRunning),
      startProcess: (stages) => {
        this.#start(stages);
      },
      groupIds: ['sim-sequencer', 'sim-router', 'sim-dispatcher', 'sim-projector-feed', 'sim-projector-deliveries'],
      ledger: this.#ledger,
      isAlone: struck.length === 1,
      inboxTopic: topics.inbox,
      router: 'sim-router',
      feedProjector: 'sim-projector-feed',
      alerting: this.#hasChats ? 'sim-alerting' : null,
      operators: this.#operators,
      logTopic: topics.log,
      sequencesTopic: topics.sequences,
    });
    for (const fault of struck) faultPlan.schedule(fault, plan.between(500, endMs), calmMs);
    const evidence: Evidence = {
      broker: this.#broker,
      tables: this.#postgres.tables,
      ledger: this.#ledger,
      topics,
      partitions: this.#config.partitions,
      isStopped: (group, topic, partition) => this.#isStopped(group, topic, partition),
      alertsWithinMs: struck.length === 0 ? PROMPT_MS : null,
    };
    this.#time.schedule(calmMs, this.#chance, () => {
      this.#calm();
      this.#watch(evidence);
    });
    const unhandled = (error: unknown) => {
      this.#ledger.breaches.push(
        `unhandled: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
    };
    process.on('unhandledRejection', unhandled);
    let problems: readonly string[];
    try {
      const outcome = await this.#time.run({ untilMs: calmMs + SETTLE_MS, steps: MOST_STEPS });
      problems = judge(evidence);
      if (outcome !== 'ended') problems = [...problems, `it does not settle, ${outcome}: ${unsettled(evidence) ?? ''}`];
    } finally {
      forgetListeners();
      process.off('unhandledRejection', unhandled);
    }
    return {
      seed,
      problems,
      events,
      steps: this.#time.steps,
      virtualMs: this.#time.nowMs,
      digest: this.#trace.isOn ? this.#trace.digest() : '',
    };
  }

  #anOrgId(): OrgId {
    const hex = () => this.#plan.int(0, 0xffff).toString(16).padStart(4, '0');
    return `${hex()}${hex()}-${hex()}-4${hex().slice(1)}-8${hex().slice(1)}-${hex()}${hex()}${hex()}` as OrgId;
  }

  /** One process with everything, or several, or one for each stage. */
  #begin(): void {
    const sets = this.#plan.int(1, 2);
    const isSplit = this.#plan.chance(0.4);
    const stages: readonly StageName[] = this.#hasChats ? [...ALL_STAGES, 'alerting'] : ALL_STAGES;
    for (let set = 0; set < sets; set++) {
      if (isSplit) for (const stage of stages) this.#start([stage]);
      else this.#start(stages);
    }
  }

  #start(stages: readonly StageName[]): void {
    const process = new SimulatedProcess(++this.#started, stages, {
      time: this.#time,
      trace: this.#trace,
      network: this.#network,
      kafka: simulatedKafka(this.#broker, this.#time),
      interruptions: () => this.#broker.crashes,
      postgres: this.#postgres,
      config: this.#config,
      onLog: (line) => {
        this.#listen(line);
      },
      newEventId: () => this.#source.newId(),
      newEndpointId: () => this.#source.newEndpointId(),
      destination: (owner) =>
        this.#customers.destinationOf(
          (due) => {
            this.#assertHeld(owner, due);
          },
          () => owner.actor.isAlive,
        ),
    });
    this.#processes.push(process);
    process.start();
  }

  /** A process that begins an attempt has its partition, or had it a moment ago. */
  #assertHeld(process: SimulatedProcess, { delivery, run, attempt }: DueAttempt): void {
    const { topics, sessions } = process;
    const { endpointId, eventId, orgId } = delivery;
    const lanes: (readonly [group: string, topic: string, key: string])[] = [
      ['dispatcher', topics.attempts, endpointId],
      ['dispatcher-slow', topics.attemptsSlow, endpointId],
    ];
    // Only first attempts come from the log.
    if (run === 0 && attempt === 1) lanes.push(['router', topics.log, orgId]);
    const isLost = lanes.every(([group, topic, key]) => {
      const partition = partitionOf(key, this.#config.partitions);
      return sessions.hasLost(group, topic, partition, this.#time.nowMs - WITHDRAWN_MS);
    });
    if (!isLost) return;
    const text = `${process.actor.name} pushes ${eventId} to ${endpointId}, of a partition that it has lost`;
    this.#ledger.breaches.push(text);
  }

  /** Whether a process says that it stands still there until somebody acts. */
  #isStopped(group: string, topic: string, partition: number): boolean {
    const part = `-${group} ${topic}/${partition} stopped by its `;
    return this.#processes.some(
      ({ isRunning, health }) => isRunning && Object.keys(health.parts()).some((name) => name.includes(part)),
    );
  }

  /** The processes that answer HTTP just now. */
  #apis(): readonly SimulatedProcess[] {
    return this.#processes.filter(({ isRunning, stages }) => isRunning && stages.includes('api'));
  }

  #listen({ level, message, fields, process }: LogLine): void {
    const isAlarming = level === 'error' || level === 'fatal' || ALARMING.has(message);
    if (!isAlarming) return;
    // Nothing else is to be said of a partition that lost records.
    const isRight = this.#ledger.wentBack.has(`${String(fields['topic'])}/${String(fields['partition'])}`);
    if (message === 'partition.stopped' && isRight) return;
    const text = JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? value.stack : value));
    this.#ledger.breaches.push(`${process} says ${message} ${text}`);
  }

  /** @returns how many events are submitted */
  #planLoad(endMs: number): number {
    const plan = this.#plan;
    const use = this.#submitting(plan);
    const clients = Array.from({ length: plan.int(1, 4) }, (_, nth) => new HttpSubmitter(`client-${nth + 1}`, use));
    const producers = Array.from({ length: plan.int(0, 2) }, (_, nth) => new InboxProducer(`service-${nth + 1}`, use));
    const wanted = plan.int(20, plan.chance(0.3) ? 150 : 60);
    const repeats = () => (plan.chance(0.2) ? [plan.between(1, 8_000)] : []);
    let made = 0;
    while (made < wanted) {
      const atMs = plan.between(100, endMs);
      const orgId = plan.pick(this.#orgIds);
      if (producers.length > 0 && plan.chance(0.15)) {
        const producer = plan.pick(producers);
        if (plan.chance(0.1)) producer.produceRubbish(atMs, orgId);
        else if (plan.chance(0.05)) producer.produceAstray(atMs, this.#source.ticket(orgId));
        else producer.submit(atMs, this.#source.ticket(orgId), repeats());
        made++;
        continue;
      }
      const count = Math.min(wanted - made, plan.chance(0.7) ? plan.int(1, 3) : plan.int(4, 30));
      const events = Array.from({ length: count }, () =>
        this.#source.ticket(plan.chance(0.8) ? orgId : plan.pick(this.#orgIds)),
      );
      plan.pick(clients).submit(atMs, events, repeats());
      made += count;
    }
    return made + this.#planBacklog(clients, endMs);
  }

  #submitting(random: Random): SubmittersDependencies {
    return {
      time: this.#time,
      random,
      trace: this.#trace,
      ledger: this.#ledger,
      source: this.#source,
      orgIds: this.#orgIds,
      partitions: this.#config.partitions,
      inbox: `${this.#config.topicPrefix}.inbox.v1`,
      kafka: simulatedKafka(this.#broker, this.#time),
      apis: () => this.#apis(),
    };
  }

  /** Chats that wait. Nobody answers most of them, and others are answered before or after their thresholds. */
  #planChats(endMs: number): void {
    const chats = this.#chats;
    const desk = new HttpSubmitter('desk', this.#submitting(chats));
    const source = new EventSource(chats);
    for (const orgId of this.#orgIds) {
      const first = chats.int(1, 3);
      const thresholds = { first_alert_seconds: first, second_alert_seconds: first + chats.int(1, 4) };
      this.#postgres.tables.queues.set(orgId, { org_id: orgId, waiting: 0, last_seq: 0, ...thresholds });
      // Some of them come together, and pass their thresholds together.
      let atMs = chats.between(500, endMs);
      for (let nth = chats.int(1, 6); nth > 0; nth--) {
        const id = `cnv_${orgId}_${nth}`;
        if (chats.chance(0.5)) atMs = chats.between(500, endMs);
        desk.submit(atMs, [source.conversation(orgId, id, 'handed_off')], []);
        if (!chats.chance(0.4)) continue;
        desk.submit(
          atMs + chats.between(300, 6_000),
          [source.conversation(orgId, id, 'picked_up')],
          chats.chance(0.2) ? [chats.between(1, 4_000)] : [],
        );
      }
    }
  }

  /** Now and then more for one slow endpoint than can be in flight, while another process joins. */
  #planBacklog(clients: readonly HttpSubmitter[], endMs: number): number {
    const plan = this.#plan;
    if (!plan.chance(0.03)) return 0;
    const orgId = plan.pick(this.#orgIds);
    const slow = this.#operatorOf(orgId);
    slow.create(0);
    this.#customers.moods.set(slow.name, 'is slow');
    const atMs = plan.between(500, endMs / 2);
    plan.pick(clients).submit(
      atMs,
      Array.from({ length: BACKLOG }, () => this.#source.ticket(orgId)),
      [],
    );
    const [one] = this.#processes;
    this.#at(atMs + plan.between(0, 1_500), () => {
      if (one !== undefined) this.#start(one.stages.includes('dispatcher') ? one.stages : ['dispatcher']);
    });
    return BACKLOG;
  }

  #planEndpoints(endMs: number): void {
    const plan = this.#plan;
    const moods: readonly Mood[] = ['answers', 'answers', 'is slow', 'fails at times', 'fails', 'hangs'];
    for (const orgId of this.#orgIds) {
      for (let count = plan.int(0, 2); count > 0; count--) {
        const ordering = this.#anOrdering();
        const isOrderedFromStart = this.#orders.chance(0.7);
        const urgent = this.#urgencies.chance(0.5) ? this.#urgencies.pick([['ticket.updated'], TICKET_TYPES]) : null;
        const plans = [this.#aPace(), this.#aFilter(), ordering, isOrderedFromStart, urgent] as const;
        const operator = this.#operatorOf(orgId, ...plans, this.#chains.chance(0.5));
        const createdAtMs = plan.chance(0.6) ? 0 : plan.between(0, endMs);
        operator.create(createdAtMs);
        if (!isOrderedFromStart && ordering.by !== 'none') operator.order(this.#orders.between(createdAtMs, endMs));
        if (plan.chance(0.3)) {
          const disabledAtMs = plan.between(createdAtMs, endMs);
          operator.disable(disabledAtMs, plan.chance(0.8) ? plan.between(disabledAtMs, endMs + 1_000) : null);
        }
        for (let changes = plan.int(0, 2); changes > 0; changes--) {
          const mood = plan.pick(moods);
          this.#at(plan.between(createdAtMs, endMs), () => {
            this.#trace.note(`${operator.name} from now on ${mood}`, 'customers');
            this.#customers.moods.set(operator.name, mood);
          });
        }
      }
    }
  }

  #at(atMs: number, act: () => void): void {
    this.#time.schedule(atMs - this.#time.nowMs, this.#chance, act);
  }

  /** Most endpoints have no limits. */
  #aPace(): Pace {
    const paces = this.#paces;
    if (!paces.chance(0.25)) return { maxPerSecond: null, maxInFlight: null };
    const maxPerSecond = paces.chance(0.7) ? paces.int(1, 6) : null;
    return { maxPerSecond, maxInFlight: maxPerSecond === null || paces.chance(0.3) ? paces.int(1, 3) : null };
  }

  /** Most endpoints have no order. */
  #anOrdering(): Ordering {
    const orders = this.#orders;
    if (!orders.chance(0.35)) return NO_ORDERING;
    return { by: orders.pick(['endpoint', 'subject'] as const), batch: orders.chance(0.5) ? 1 : orders.int(2, 8) };
  }

  /** Most endpoints have no filter. Some have one that has no answer, which keeps everything. */
  #aFilter(): SeqFilter | null {
    if (!this.#filters.chance(0.25)) return null;
    if (this.#filters.chance(0.2)) return { text: 'event.data.absent == 1', keeps: () => true };
    const [of, rest] = [this.#filters.int(2, 4), this.#filters.int(0, 1)];
    return { text: `event.seq % ${of} == ${rest}`, keeps: (seq) => seq % of === rest };
  }

  #operatorOf(
    orgId: OrgId,
    pace?: Pace,
    filter?: SeqFilter | null,
    ordering?: Ordering,
    isOrderedFromStart?: boolean,
    urgent?: readonly string[] | null,
    hasChain?: boolean,
  ): Operator {
    const { log } = topicNames(this.#config.topicPrefix, this.#config.retrySchedule);
    const partition = partitionOf(orgId, this.#config.partitions);
    const name = `hook-${this.#operators.length + 1}`;
    const use = {
      time: this.#time,
      random: this.#plan,
      trace: this.#trace,
      ledger: this.#ledger,
      apis: () => this.#apis(),
      logEnd: () => this.#broker.log(log, partition).end,
      routed: () => ({
        committed: this.#broker.group('sim-router').offsets.get(`${log}/${partition}`)?.offset ?? 0,
        handedOver: this.#broker.handedOver('sim-router', log, partition),
      }),
    };
    const operator = new Operator(name, orgId, use, pace, filter, ordering, isOrderedFromStart, urgent, hasChain);
    this.#operators.push(operator);
    return operator;
  }

  /** Whatever is broken is repaired, and nothing goes wrong any more. */
  #calm(): void {
    this.#trace.note('from here on nothing goes wrong', 'world');
    this.#network.weather.clear();
    this.#network.freezeAtSend = null;
    this.#time.thaw(this.#broker.actor);
    this.#time.thaw(this.#postgres.actor);
    this.#broker.start();
    this.#postgres.start();
    this.#postgres.unblock();
    for (const process of this.#processes) {
      process.actor.clockSkewMs = 0;
      if (process.actor.isFrozen) this.#time.thaw(process.actor);
    }
    for (const [name, mood] of this.#customers.moods) {
      if (mood !== 'fails') this.#customers.moods.set(name, 'answers');
    }
    for (const groupId of [...this.#broker.withheld]) this.#broker.giveAgain(groupId);
  }

  #watch(evidence: Evidence): void {
    let settled = 0;
    const look = () => {
      settled = unsettled(evidence) === null ? settled + 1 : 0;
      if (settled >= (this.#broker.lostOffsets.size > 0 ? LOOKS_IN_DOUBT : LOOKS)) this.#time.end();
      else this.#time.schedule(LOOK_EVERY_MS, this.#chance, look);
    };
    look();
  }
}

export function simulate(options: HistoryOptions): Promise<HistoryResult> {
  return new History(options).run();
}
