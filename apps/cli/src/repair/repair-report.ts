import type { OrgId, Seq } from '#libs/domain';
import type { Conflict } from '#libs/postgres';
import { goneLines } from './gone-events.js';
import { grownTopicLines, needsSettling } from './grown-topics.js';
import { lostFactsLines } from './lost-facts.js';
import type { PartitionPlan, RepairPlan } from './repair-plan.js';

interface OrgPutBack {
  readonly org_id: OrgId;
  readonly first_seq: Seq;
  readonly last_seq: Seq;
}

function orgsOf({ putBack }: PartitionPlan): readonly OrgPutBack[] {
  return [...putBack.orgs].map(([org_id, { first, last }]) => ({ org_id, first_seq: first, last_seq: last }));
}

/** Whether there is nothing to repair. */
export function isSound(plan: RepairPlan): boolean {
  return (
    !plan.grown.some(needsSettling) &&
    plan.partitions.every(({ needsReset, log }) => !needsReset && log.conflicts.length === 0) &&
    plan.groups.length === 0 &&
    plan.lostFacts.size === 0 &&
    plan.routedAgain.length === 0
  );
}

/** Returns the plan as JSON. */
export function repairJson(plan: RepairPlan, applied: boolean): string {
  return JSON.stringify({
    ok: isSound(plan),
    applied,
    running: plan.running,
    partitions: plan.partitions
      .filter(({ needsReset }) => needsReset)
      .map((partition) => ({
        partition: partition.partition,
        log_end: partition.log.end,
        put_back: orgsOf(partition),
        inbox_from: partition.log.inboxOffset,
        inbox_to: partition.inbox.offset,
        skipped_events: partition.inbox.skipped,
        last_seqs: [...partition.lostSeqs].map(([org_id, last_seq]) => ({ org_id, last_seq })),
        unread_records: partition.unread,
        gone_events: partition.gone.records,
        gone_seqs: partition.gone.seqs.map(({ orgId, first, last, areGivenAgain }) => ({
          org_id: orgId,
          first_seq: first,
          last_seq: last,
          given_again: areGivenAgain,
        })),
        lost_inbox_records: partition.gone.inboxRecords,
      })),
    conflicts: plan.partitions.flatMap(({ log }) =>
      log.conflicts.map(({ orgId, seq, id }) => ({ org_id: orgId, seq, feed_event_id: id })),
    ),
    grown_topics: plan.grown.map(({ misplaced, ...topic }) => ({ ...topic, misplaced: misplaced.length })),
    groups: plan.groups,
    routed_again: plan.routedAgain,
    lost_facts: [...plan.lostFacts].map(([partition, lost]) => ({ partition, ...lost })),
  });
}

/** Returns the plan as text lines. */
export function repairLines(plan: RepairPlan, applied: boolean): readonly string[] {
  if (isSound(plan)) return ['No topic went back. There is nothing to repair.'];
  const lines = [
    ...plan.grown.filter(needsSettling).flatMap(grownTopicLines),
    ...plan.partitions.filter(({ needsReset }) => needsReset).flatMap(partitionLines),
  ];
  for (const { groupId, topic, partition, from, to } of plan.groups) {
    lines.push(`group ${groupId}: ${topic}/${partition} continues at ${to} instead of ${from}`);
  }
  if (plan.groups.some(({ topic }) => /\.(attempts|attempts-slow|retry-[^.]+)\.v1$/.test(topic))) {
    lines.push('  attempts that are gone are put back by the dispatchers, from 5 minutes after they were due');
  }
  for (const { partition, from, to } of plan.routedAgain) {
    lines.push(`log/${partition}: the dispatchers route again from ${to} on; they were at ${from}`);
  }
  for (const [partition, lost] of plan.lostFacts) lines.push(...lostFactsLines(partition, lost));
  lines.push(...conflictLines(plan.partitions.flatMap(({ log }) => log.conflicts)));
  if (applied) return [...lines, 'Done. Start all processes, then run verify.'];
  return [...lines, 'This was a dry run: nothing has changed. Stop all processes, then run it again with --apply.'];
}

function conflictLines(conflicts: readonly Conflict[]): readonly string[] {
  if (conflicts.length === 0) return [];
  const lines = [`${conflicts.length} seqs have other events in the feed than in the log:`];
  for (const orgId of new Set(conflicts.map((conflict) => conflict.orgId))) {
    const seqs = conflicts.filter((conflict) => conflict.orgId === orgId).map(({ seq }) => seq);
    lines.push(`    org ${orgId}: ${seqs.length} seqs from ${Math.min(...seqs)} to ${Math.max(...seqs)}`);
  }
  return [
    ...lines,
    '  This command leaves them. "rebuild --from-empty" takes the events of the log; those of the feed are gone for good then. --json lists their ids.',
  ];
}

function partitionLines(plan: PartitionPlan): readonly string[] {
  const { partition, log, inbox } = plan;
  const lines = [`partition ${partition}:`];
  if (plan.isLogBehind || plan.putBack.count > 0) {
    lines.push(`  the log ends at ${log.end}; ${plan.putBack.count} events go back from Postgres:`);
  }
  for (const { org_id, first_seq, last_seq } of orgsOf(plan)) {
    lines.push(`    org ${org_id}: seq ${first_seq} to ${last_seq}`);
  }
  if (plan.lostSeqs.size > 0) {
    lines.push(
      `  the checkpoint covers the log up to ${log.checkpointedLogOffset}, and the log begins at ${log.begin}. Last seqs by log and Postgres:`,
    );
  }
  for (const [orgId, lastSeq] of plan.lostSeqs) lines.push(`    org ${orgId}: seq ${lastSeq}`);
  if (plan.unread > 0) {
    lines.push(`  ${plan.unread} records were removed from the log before Postgres read them: their seqs are unknown`);
  }
  lines.push(...goneLines(plan.gone));
  if (inbox.offset !== log.inboxOffset) {
    lines.push(
      `  the inbox continues at ${inbox.offset} instead of ${log.inboxOffset}, to include ${inbox.skipped} accepted events`,
    );
  }
  return lines;
}
