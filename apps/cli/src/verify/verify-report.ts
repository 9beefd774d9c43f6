import type { OrgAudit } from '#libs/domain';
import { differenceText, type Differences } from './difference.js';
import type { DeliveryVerdict } from './verify-deliveries.js';
import type { FeedVerdict } from './verify-feed.js';

/** Everything that `verify` has found. */
export interface VerifyReport {
  readonly feed: FeedVerdict;
  /** `null` if they were left out. */
  readonly deliveries: DeliveryVerdict | null;
  readonly differences: Differences;
}

/** With more orgs than this, the report lists only those with a finding. */
const LISTED_ORGS = 50;

function eventsOf({ firstSeq, lastSeq, missing }: OrgAudit): number {
  return lastSeq - firstSeq + 1 - missing;
}

/** Returns the report as one JSON object, with every org. */
export function verifyJson({ feed, deliveries, differences }: VerifyReport): string {
  return JSON.stringify({
    ok: differences.count === 0,
    log: {
      records: feed.records,
      foreign: feed.foreign,
      orgs: feed.orgs.map((org) => ({
        org_id: org.orgId,
        first_seq: org.firstSeq,
        last_seq: org.lastSeq,
        events: eventsOf(org),
        gaps: org.gaps,
        missing: org.missing,
        repeats: org.repeats,
        repeated_ids: org.repeatedIds,
      })),
    },
    feed: { compared: feed.compared, pruned: feed.pruned },
    deliveries,
    differences: {
      count: differences.count,
      first: differences.first.map((difference) => ({ ...difference, text: differenceText(difference) })),
    },
  });
}

/** Returns the report as text lines. */
export function verifyLines({ feed, deliveries, differences }: VerifyReport): readonly string[] {
  const notable = feed.orgs.filter((org) => org.gaps > 0 || org.repeats > 0 || org.repeatedIds > 0);
  const listed = feed.orgs.length <= LISTED_ORGS ? feed.orgs : notable.slice(0, LISTED_ORGS);
  const header = ['org', 'first', 'last', 'events', 'gaps', 'repeats', 'repeated ids'];
  const rows = listed.map((org) =>
    [org.orgId, org.firstSeq, org.lastSeq, eventsOf(org), org.gaps, org.repeats, org.repeatedIds].map(String),
  );
  const lines = rows.length === 0 ? [] : table([header, ...rows]);
  if (feed.orgs.length > listed.length) lines.push(`… and ${feed.orgs.length - listed.length} more orgs`);
  const pruned = feed.pruned === 0 ? '' : `, ${feed.pruned} are older than the retention`;
  const foreign = feed.foreign === 0 ? '' : `, ${feed.foreign} records that are not the sequencer's are skipped`;
  const notFacts = deliveries?.foreign ?? 0;
  const skipped = notFacts === 0 ? '' : `, ${notFacts} records that are not facts are skipped`;
  lines.push(
    `log         ${feed.records} records of ${feed.orgs.length} orgs${foreign}`,
    `feed        ${feed.compared} events compared by SHA-256${pruned}`,
    deliveries === null
      ? 'deliveries  not compared'
      : `deliveries  ${deliveries.compared} deliveries of ${deliveries.facts} facts compared${skipped}`,
  );
  if (differences.count === 0) return [...lines, 'No differences.'];
  return [...lines, ...differences.lines()];
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
}
