import type { QueryRunner } from 'typeorm';
import {
  endDelivery,
  factEndpointId,
  OPERATIONAL_EVENTS_KEPT_MS,
  systemClock,
  type Attempted,
  type Clock,
  type DeliveryFact,
  type DeliveryId,
  type DeliveryRef,
  type DeliveryState,
  type OrgId,
} from '#libs/domain';
import { DayPartitions } from './days/day-partitions.js';
import { DeliveryLedger, type AutoDisabled } from './delivery-ledger.js';
import {
  APPLY_FACTS,
  LOAD_FACTS,
  rowParameters,
  type FactBatch,
  type LoadedDelivery,
  type LoadedFacts,
} from './delivery-statements.js';
import { noteActivity, noteExhausted, noteFailing } from '../operations/note-operational-events.js';
import {
  applied,
  moveParameters,
  ProjectionOffsets,
  type Expected,
  type Projected,
  type Stretch,
} from './projection-offsets.js';
import { isPostgresAway } from '../connection/postgres-away.js';
import type { Store } from '../connection/store.js';

export interface FactAtOffset {
  readonly offset: number;
  readonly fact: DeliveryFact;
}

function attemptKey(deliveryId: string, run: number, attempt: number): string {
  return `${deliveryId}/${run}/${attempt}`;
}

export type LogEndsOf = (orgIds: readonly OrgId[]) => Promise<ReadonlyMap<OrgId, number>>;

/** Folds the delivery facts into deliveries, attempts and endpoint health, and stores the offset with them. */
export class DeliveryProjection {
  readonly #days: DayPartitions;
  readonly #offsets: ProjectionOffsets;

  /**
   * @param endpoints `report`: disables endpoints that fail too often, and notes what happened to them for the operations
   *   organization; `disable`: only disables them; `leave`: only ends their pending deliveries
   * @param logEndsOf returns the known ends of the orgs' partitions of the log: an endpoint is disabled from there on
   * @param clock says which failures are too old to be noted
   */
  constructor(
    private readonly store: Store,
    private readonly autoDisableAfter: number,
    private readonly endpoints: 'report' | 'disable' | 'leave' = 'disable',
    private readonly logEndsOf: LogEndsOf | null = null,
    private readonly clock: Clock = systemClock,
  ) {
    this.#days = new DayPartitions(store);
    this.#offsets = new ProjectionOffsets(store);
  }

  /** @param facts the facts of one partition of the deliveries topic, ascending */
  async apply(stretch: Stretch, facts: readonly FactAtOffset[]): Promise<Projected> {
    for (;;) {
      const place = await this.#offsets.place(stretch);
      if (place.kind === 'behind') return place;
      if (place.kind === 'done') return applied(stretch, stretch.nextOffset);
      const unseen = facts.filter(({ offset }) => offset >= place.expected).map(({ fact }) => fact);
      const batch = await this.#fold(unseen);
      const timesMs = [...batch.ledger.deliveries.values()].map(({ ref }) => ref.createdAtMs);
      if (await this.#days.writeInto(timesMs, () => this.#write(stretch, place, batch))) {
        this.#offsets.moved(stretch, place);
        return applied(stretch, place.expected);
      }
      this.#offsets.forget(stretch);
    }
  }

  async #fold(facts: readonly DeliveryFact[]): Promise<FactBatch> {
    const loaded = await this.#load(facts);
    const present = new Set(loaded.endpoints);
    const ledger = new DeliveryLedger();
    const stored = new Map(loaded.deliveries.map((row) => [row.id, row]));
    for (const { endpointId, endings } of loaded.endings) ledger.endings.set(endpointId, endings);
    for (const { endpointId, orgId, ...state } of loaded.health) ledger.health.set(endpointId, { orgId, state });
    const ofPresent = facts.filter((fact) => present.has(factEndpointId(fact)));
    for (const fact of ofPresent) {
      if (fact.type === 'endpoint_disabled') continue;
      const { deliveryId, endpointId } = fact.delivery;
      const row = stored.get(deliveryId);
      const state = row === undefined ? undefined : seenState(row, ledger.endings.get(endpointId) ?? 0);
      // Only the facts of dispatchers name the lane and the urgency. Those of requests do not.
      const before = ledger.deliveries.get(deliveryId)?.ref;
      const { isUrgent: isCalledUrgent, lane = before?.lane, ...delivery } = fact.delivery;
      // The first fact decides. A row keeps what it was written with.
      const isUrgent = before === undefined ? isCalledUrgent : before.isUrgent;
      const place = { ...(lane === undefined ? {} : { lane }), ...(isUrgent === undefined ? {} : { isUrgent }) };
      // Here the first fact that names it decides: that of a request may have come before.
      const previousSeq = before?.previousSeq ?? delivery.previousSeq ?? null;
      ledger.deliveries.set(deliveryId, { ref: { ...delivery, ...place, previousSeq }, state });
    }
    const known = new Set(loaded.attempts);
    const attempts: Attempted[] = [];
    for (const fact of ofPresent) {
      const key = fact.type === 'attempted' ? attemptKey(fact.delivery.deliveryId, fact.run, fact.attempt) : '';
      const isNewAttempt = fact.type === 'attempted' && !known.has(key);
      if (isNewAttempt) {
        known.add(key);
        attempts.push(fact);
      }
      ledger.fold(fact, isNewAttempt, this.autoDisableAfter);
    }
    return { attempts, ledger };
  }

  async #load(facts: readonly DeliveryFact[]): Promise<LoadedFacts> {
    const refs = new Map<DeliveryId, DeliveryRef>();
    const attempts: Attempted[] = [];
    for (const fact of facts) {
      if (fact.type !== 'endpoint_disabled') refs.set(fact.delivery.deliveryId, fact.delivery);
      if (fact.type === 'attempted') attempts.push(fact);
    }
    const [loaded] = await this.store.prepared<LoadedFacts>('load_facts', LOAD_FACTS, [
      [...new Set(facts.map(factEndpointId))],
      [...refs.keys()],
      [...refs.values()].map((ref) => ref.createdAtMs),
      attempts.map((fact) => fact.delivery.deliveryId),
      attempts.map((fact) => fact.run),
      attempts.map((fact) => fact.attempt),
      attempts.map((fact) => fact.delivery.createdAtMs),
    ]);
    return loaded ?? { endpoints: [], health: [], endings: [], deliveries: [], attempts: [] };
  }

  /**
   * Returns what is noted of the failures: none that is old. A projection that is built again folds it a second time, when
   * nobody knows any more that it was published.
   */
  #failuresToNote({ failing, exhausted }: DeliveryLedger): Pick<DeliveryLedger, 'failing' | 'exhausted'> {
    if (this.endpoints !== 'report') return { failing: [], exhausted: [] };
    const sinceMs = this.clock.now() - OPERATIONAL_EVENTS_KEPT_MS;
    const isRecent = ({ startedAtMs, durationMs }: Attempted) => startedAtMs + durationMs > sinceMs;
    return { failing: failing.filter(({ fact }) => isRecent(fact)), exhausted: exhausted.filter(isRecent) };
  }

  /**
   * Notes what happened to the endpoints for the operations organization, in the transaction of the fold. An endpoint that
   * was active until now is always noted.
   */
  async #note(
    runner: QueryRunner,
    { failing, exhausted }: Pick<DeliveryLedger, 'failing' | 'exhausted'>,
    disabled: readonly AutoDisabled[],
  ): Promise<void> {
    if (this.endpoints !== 'report') return;
    for (const { fact, failureCount } of failing) await noteFailing(runner, fact, failureCount);
    for (const { atMs, reason, ...endpoint } of disabled) {
      await noteActivity(runner, endpoint, { becomes: 'disabled', reason }, atMs);
    }
    await noteExhausted(runner, exhausted);
  }

  /**
   * Returns SQL for the last seq of each org in the feed. It is unknown while a database is away: deliveries do not wait
   * for the feed.
   */
  async #headsOf(orgIds: readonly OrgId[]): Promise<ReadonlyMap<OrgId, string>> {
    const heads = new Map<OrgId, string>();
    for (const orgId of new Set(orgIds)) {
      try {
        heads.set(orgId, await this.store.feed.headSql(orgId));
      } catch (error) {
        if (!isPostgresAway(error) || this.store.feed.isInMain(orgId)) throw error;
      }
    }
    return heads;
  }

  /** @returns whether offset and tables were the expected ones; if not, nothing was written */
  async #write(stretch: Stretch, place: Expected, batch: FactBatch): Promise<boolean> {
    const parameters = [...moveParameters(stretch, place), ...rowParameters(batch)];
    const { ledger } = batch;
    const failures = this.#failuresToNote(ledger);
    const reports = failures.failing.length + failures.exhausted.length > 0;
    const disables = this.endpoints !== 'leave' && ledger.autoDisabled.length > 0;
    if (!reports && !disables) {
      const [outcome] = await this.store.prepared<{ moved: string }>('apply_facts', APPLY_FACTS, parameters);
      return outcome?.moved === '1';
    }
    const orgIds = ledger.autoDisabled.map(({ orgId }) => orgId);
    const logEnds = await this.logEndsOf?.(orgIds);
    // Nobody knows where a partition without a leader ends. The feed may lag, so its last seq alone would leave out
    // events from before. With neither, the router leaves out nothing.
    const heads = await this.#headsOf(logEnds === undefined ? orgIds : [...logEnds.keys()]);
    return this.store.transaction(async (runner) => {
      const [outcome] = (await runner.query(APPLY_FACTS, parameters)) as { moved: string }[];
      if (outcome?.moved !== '1') return false;
      const disabled = await disableEndpoints(runner, ledger, { logEnds: logEnds ?? new Map(), heads });
      await this.#note(runner, failures, disabled);
      return true;
    });
  }
}

/** The visible state of a stored row: if its endpoint was ended since, a pending delivery has ended. */
function seenState({ id: _, endings, ...state }: LoadedDelivery, endingsOfEndpoint: number): DeliveryState {
  return endings < endingsOfEndpoint ? endDelivery(state, 'endpoint_disabled') : state;
}

/**
 * Compares the activation, so that a rebuild does not disable an endpoint that an operator has enabled since. A rebuild
 * may not have reached the org's events yet. Then the first seq of the period is unknown.
 * @returns those that were active until now
 */
async function disableEndpoints(
  runner: QueryRunner,
  ledger: DeliveryLedger,
  { logEnds, heads }: { readonly logEnds: ReadonlyMap<OrgId, number>; readonly heads: ReadonlyMap<OrgId, string> },
): Promise<readonly AutoDisabled[]> {
  const disabled: AutoDisabled[] = [];
  for (const change of ledger.autoDisabled) {
    const { endpointId, orgId, activation, atMs, reason } = change;
    const periods = (await runner.query(
      `with disabled as (
         update endpoints set is_active = false, disabled_at = $3, disabled_reason = $5
         where id = $1 and activation = $2 and is_active
         returning id, org_id, activation, disabled_at
       )
       insert into endpoint_inactive_periods (endpoint_id, org_id, activation, began_at, began_after_seq, began_offset)
       select disabled.*, nullif((${heads.get(orgId) ?? 'null'})::bigint, 0), $4::bigint from disabled
       returning endpoint_id`,
      [endpointId, activation, new Date(atMs), logEnds.get(orgId) ?? null, reason],
    )) as unknown[];
    if (periods.length > 0) disabled.push(change);
  }
  return disabled;
}
