import { hash } from 'node:crypto';
import { LogAudit, SEQ_NONE, type OrgAudit, type OrgId, type Seq } from '#libs/domain';
import { FeedAudit, type FeedSpan, type LoggedEvent } from '#libs/postgres';
import {
  InstallationTopic,
  isForeign,
  isPutBack,
  LogPositions,
  readLogRecord,
  readPartitions,
  streamPartitions,
  type PartitionBounds,
  type Positions,
  type RecordBatch,
  type StoredRecord,
} from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import { awaitProjection } from './await-projection.js';
import type { Differences } from './difference.js';
import type { Progress } from './progress.js';
import type { Scope } from './scope.js';

/** The findings about the log and the feed. */
export interface FeedVerdict {
  readonly records: number;
  /** How many other records are in the log. All readers skip them. */
  readonly foreign: number;
  /** How many events of the log were compared with the feed. */
  readonly compared: number;
  /** How many events of the log retention has removed from the feed, or may remove. */
  readonly pruned: number;
  readonly orgs: readonly OrgAudit[];
}

const ORGS_AT_ONCE = 500;

/** The positions of the log before it is read. */
interface KnownLog {
  readonly bounds: ReadonlyMap<number, PartitionBounds>;
  readonly projected: Positions;
  /** The partitions, as `topic/partition`, in which orgs may begin at any seq. */
  readonly lostBegins: ReadonlySet<string>;
}

/** The expected feed of an org. */
interface Expected {
  readonly orgId: OrgId;
  readonly firstSeq: Seq;
  lastSeq: Seq;
  rows: number;
}

/** Reads the log up to its present end, checks the seqs, and compares each event with the feed. */
export async function verifyFeed(
  installation: Installation,
  scope: Scope,
  differences: Differences,
  progress: Progress,
): Promise<FeedVerdict> {
  const { connection, topics } = installation;
  const positions = new LogPositions(connection);
  const bounds = await positions.bounds(topics.log);
  const awaited = { projection: 'feed', topic: topics.log, bounds };
  const projected = await awaitProjection(installation, awaited, scope.patienceMs, differences);
  // Read after the places of the feed: a log that lost nothing does not end before them.
  for (const [partition, { end }] of await positions.bounds(topics.log)) {
    const at = projected.get(partition) ?? 0;
    if (at <= end) continue;
    differences.add({ kind: 'ahead', projection: 'feed', place: `${topics.log}/${partition}/${end}`, at });
  }
  const { lostBegins } = await new InstallationTopic(connection, topics.installation).readAll();
  const verification = new FeedVerification(installation, scope, differences, { bounds, projected, lostBegins });
  progress.begin(
    'log and feed',
    [...bounds.values()].reduce((sum, { begin, end }) => sum + end - begin, 0),
  );
  try {
    await streamPartitions(
      connection,
      [...bounds].map(([partition, { begin, end }]) => ({ topic: topics.log, partition, from: begin, to: end })),
      async (batch) => {
        await verification.add(batch);
        progress.advance(batch.records.length);
      },
    );
  } finally {
    progress.end();
  }
  return verification.finish();
}

class FeedVerification {
  readonly #feed: FeedAudit;
  readonly #audits = new Map<number, LogAudit>();
  /** The offset after the last record of each partition that was read. */
  readonly #next = new Map<number, number>();
  readonly #partitionOf = new Map<OrgId, number>();
  readonly #expected = new Map<OrgId, Expected>();
  #records = 0;
  #foreign = 0;
  #compared = 0;
  #pruned = 0;

  constructor(
    private readonly installation: Installation,
    private readonly scope: Scope,
    private readonly differences: Differences,
    private readonly log: KnownLog,
  ) {
    this.#feed = new FeedAudit(installation.store);
    for (const [partition, { begin }] of log.bounds) {
      this.#next.set(partition, begin);
      const isWhole = begin === 0 && !log.lostBegins.has(`${installation.topics.log}/${partition}`);
      this.#audits.set(partition, new LogAudit({ isWhole, from: scope.from }));
    }
  }

  async add({ partition, records }: RecordBatch): Promise<void> {
    await this.#passRemoved(partition, records[0]?.offset ?? 0);
    this.#next.set(partition, (records.at(-1)?.offset ?? 0) + 1);
    const fresh: LoggedEvent[] = [];
    const repeats: LoggedEvent[] = [];
    for (const record of records) {
      if (isForeign(record)) {
        this.#foreign++;
        continue;
      }
      const event = this.#read(record);
      if (event === undefined || (this.scope.orgId !== null && event.orgId !== this.scope.orgId)) continue;
      this.#records++;
      const isRepeat = this.#judge(record, event);
      if (isRepeat === undefined || record.offset >= (this.log.projected.get(partition) ?? 0)) continue;
      if (event.appendedAtMs < this.scope.sinceMs) this.#pruned++;
      else (isRepeat ? repeats : fresh).push(event);
    }
    await this.#compare(fresh);
    for (const { orgId, seq } of await this.#feed.otherBytes(repeats)) {
      this.differences.add({ kind: 'repeat_differs', org_id: orgId, seq, place: `partition ${partition}` });
    }
  }

  async finish(): Promise<FeedVerdict> {
    await this.#count([...this.#expected.values()]);
    await this.#lookForOthers();
    const orgs = [...this.#audits.values()].flatMap((audit) => audit.orgs);
    const [records, foreign] = [this.#records, this.#foreign];
    return { records, foreign, compared: this.#compared, pruned: this.#pruned, orgs };
  }

  /** Begins again after records that retention has removed before they were read: they are no gap. */
  async #passRemoved(partition: number, offset: number): Promise<void> {
    const next = this.#next.get(partition) ?? 0;
    if (offset <= next) return;
    const { connection, topics } = this.installation;
    const bounds = await new LogPositions(connection).bounds(topics.log);
    // Otherwise the offsets between are those of aborted records, and of markers of transactions.
    if ((bounds.get(partition)?.begin ?? 0) <= next) return;
    this.#audits.get(partition)?.beginAgain();
    const before = [...this.#expected.values()].filter(({ orgId }) => this.#partitionOf.get(orgId) === partition);
    await this.#count(before);
    for (const { orgId } of before) this.#expected.delete(orgId);
  }

  #read(record: StoredRecord): LoggedEvent | undefined {
    try {
      const event = readLogRecord(record);
      return { ...event, sha256: hash('sha256', event.envelope, 'buffer') };
    } catch {
      this.differences.add({ kind: 'unreadable', place: placeOf(record) });
      return undefined;
    }
  }

  /** @returns whether the record is a repeat; `undefined` if it is not to be verified */
  #judge(record: StoredRecord, event: LoggedEvent): boolean | undefined {
    const { orgId, seq, id } = event;
    const place = placeOf(record);
    const known = this.#partitionOf.get(orgId);
    if (known === undefined) this.#partitionOf.set(orgId, record.partition);
    else if (known !== record.partition) this.differences.add({ kind: 'second_partition', org_id: orgId, place });
    const finding = this.#audits.get(record.partition)?.add(event, isPutBack(record)) ?? { kind: 'before' };
    switch (finding.kind) {
      case 'before':
        return undefined;
      case 'repeat':
        return true;
      case 'gap':
        this.differences.add({ kind: 'gap', org_id: orgId, expected: finding.expected, seq, place });
        return false;
      case 'repeated_id':
        this.differences.add({ kind: 'repeated_id', org_id: orgId, seq, id });
        return false;
      case 'next':
        return false;
    }
  }

  async #compare(events: readonly LoggedEvent[]): Promise<void> {
    if (events.length === 0) return;
    this.#compared += events.length;
    for (const { orgId, seq } of events) {
      const org = this.#expected.get(orgId) ?? { orgId, firstSeq: seq, lastSeq: seq, rows: 0 };
      this.#expected.set(orgId, org);
      org.lastSeq = seq;
      org.rows++;
    }
    for (const { event, columns } of await this.#feed.mismatches(events)) {
      if (event.appendedAtMs < this.scope.sinceMs) continue;
      this.differences.add({ kind: 'feed', org_id: event.orgId, seq: event.seq, columns });
      const org = this.#expected.get(event.orgId);
      if (org !== undefined && columns[0] === 'row') org.rows--;
    }
  }

  async #count(expected: readonly Expected[]): Promise<void> {
    for (let from = 0; from < expected.length; from += ORGS_AT_ONCE) {
      await this.#countSome(expected.slice(from, from + ORGS_AT_ONCE));
    }
  }

  async #countSome(expected: readonly Expected[]): Promise<void> {
    for (const { orgId, rows, head } of await this.#feed.spans(expected, this.scope.sinceMs)) {
      const org = this.#expected.get(orgId);
      if (org === undefined) continue;
      if (rows > org.rows) this.differences.add({ kind: 'feed_has_more', org_id: orgId, rows: rows - org.rows });
      if ((head ?? SEQ_NONE) < org.lastSeq) {
        this.differences.add({ kind: 'head', org_id: orgId, head, last_seq: org.lastSeq });
      }
    }
  }

  /** Finds orgs that have events in the feed, but none in the log. */
  async #lookForOthers(): Promise<void> {
    const others: FeedSpan[] = [];
    for (const orgId of await this.#unknownOrgs()) {
      const wanted = { orgId, firstSeq: this.scope.from, lastSeq: Number.MAX_SAFE_INTEGER as Seq };
      const spans = await this.#feed.spans([wanted], this.scope.sinceMs);
      others.push(...spans.filter(({ rows }) => rows > 0));
    }
    if (others.length === 0) return;
    // The feed was looked at before, so what it has of the log is there to be read.
    const later = await this.#laterOrgs();
    for (const { orgId, rows } of others) {
      if (!later.has(orgId)) this.differences.add({ kind: 'feed_has_more', org_id: orgId, rows });
    }
  }

  /** Returns the orgs that may have events in the feed, and have none in the log. */
  async #unknownOrgs(): Promise<readonly OrgId[]> {
    const { orgId } = this.scope;
    if (orgId !== null) return this.#partitionOf.has(orgId) ? [] : [orgId];
    const found: OrgId[] = [];
    for (let after: OrgId | null = null; ;) {
      const orgs = await this.#feed.orgs(after, ORGS_AT_ONCE, this.scope.sinceMs);
      found.push(...orgs.filter((org) => !this.#partitionOf.has(org)));
      after = orgs.at(-1) ?? null;
      if (after === null || orgs.length < ORGS_AT_ONCE) return found;
    }
  }

  /** Returns the orgs of the records after the ends that were verified, up to the present ones. */
  async #laterOrgs(): Promise<ReadonlySet<OrgId>> {
    const { connection, topics } = this.installation;
    const stretches = [...this.log.bounds].map(([partition, { end }]) => ({ topic: topics.log, partition, from: end }));
    const orgs = new Set<OrgId>();
    await readPartitions(connection, stretches, (record) => {
      const event = isForeign(record) ? undefined : this.#read(record);
      if (event !== undefined) orgs.add(event.orgId);
    });
    return orgs;
  }
}

function placeOf({ topic, partition, offset }: StoredRecord): string {
  return `${topic}/${partition}/${offset}`;
}
