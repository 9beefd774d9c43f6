import type { Mutation } from '../../mutations/mutation.js';

/** A break that the simulator has to find. */
export type SimulatedMutation = Omit<Mutation, 'caughtBy'>;

/** Breaks that were seen outside, put back, and some others of the kind that only a fault brings to light. */
export const SIMULATED_MUTATIONS: readonly SimulatedMutation[] = [
  {
    name: 'filter-of-before',
    breaks: 'a filter answers for the event that was asked about before',
    file: 'libs/event-filter/src/cel-filters.ts',
    find: 'if (this.#last?.envelope.deref() !== envelope) {',
    replace: 'if (this.#last === undefined) {',
  },
  {
    name: 'ids-forgotten',
    breaks: 'the sequencer knows ids for 2 s, shorter than a broker freezes',
    file: 'libs/domain/src/sequencing/id-window.ts',
    find: 'export const ID_SEGMENT_MS = 4 * 60_000;',
    replace: 'export const ID_SEGMENT_MS = 500;',
  },
  {
    name: 'few-ids-known',
    breaks: 'the sequencer knows the last 20 ids, and a client repeats an older one before the feed has it',
    file: 'libs/domain/src/sequencing/id-window.ts',
    find: '    this.#clockMs = timeMs;\n    this.#forget();',
    replace: '    this.#clockMs = timeMs;\n    if (this.size >= 20) this.#segments = [];\n    this.#forget();',
  },
  {
    name: 'inbox-not-awaited',
    breaks: 'a sweep decides about a queue that does not hold the whole inbox yet',
    file: 'apps/alerting/src/folded-inbox.ts',
    find: 'batch.inboxOffset + 1 >= inboxEnd',
    replace: 'batch.inboxOffset + 1 >= 0',
  },
  {
    name: 'inbox-went-back',
    breaks: 'nobody compares the inbox with what was read of it after it lost records',
    file: 'libs/kafka-log/src/positions/position-guard.ts',
    find: "    if (verdict.kind === 'went back') {\n      standing.state",
    replace: "    if (verdict.kind === 'went back' && !topic.includes('.inbox.')) {\n      standing.state",
  },
  {
    name: 'inbox-not-compared',
    breaks: 'a sequencer that keeps its state over a rebalance does not compare it with the inbox',
    file: 'apps/sequencer/src/sequencer.ts',
    find: '      [...states].map(',
    replace: '      [...restored.states].map(',
  },
  {
    name: 'log-went-back',
    breaks: 'a sequencer that starts does not compare the log with what Postgres has read of it',
    file: 'apps/sequencer/src/log-continuity.ts',
    find: '      ...(await this.#compareProjection(restored)),\n',
    replace: '',
  },
  {
    name: 'lost-tail-not-sequenced',
    breaks: 'a sequencer goes on where its group was, though the log has lost events from before',
    file: 'apps/sequencer/src/sequencer.ts',
    find: '    state.joinedIn = generation;\n    if (offset <= handledTo) return undefined;',
    replace: '    state.joinedIn = generation;\n    if (offset >= 0) return undefined;',
  },
  {
    name: 'sequences-lost',
    breaks: 'a sequencer begins at seq 1 when both the checkpoint and the beginning of the log are gone',
    file: 'apps/sequencer/src/restore-partitions.ts',
    find: '    if (begin <= checkpointed.logOffset) continue;',
    replace: '    if (begin >= 0) continue;',
  },
  {
    name: 'failed-join-fetches-on',
    breaks: 'a consumer whose join was not answered fetches on behind what it has given up',
    file: 'libs/kafka-log/src/kafkajs/before-join.ts',
    find: '      if (!joining.isWanted()) bail(error);',
    replace: '      bail(error);',
  },
  {
    name: 'slow-batch-waited-for',
    breaks: 'a slow batch blocks the other partitions of its broker',
    file: 'libs/kafka-log/src/consuming/batch-consumer.ts',
    find: '    if (!(await endsWithin(handled, ATTACHED_MS)) && generation === this.#generation) {',
    replace:
      '    await handled;\n    if (!(await endsWithin(handled, ATTACHED_MS)) && generation === this.#generation) {',
  },
  {
    name: 'any-partition',
    breaks: 'a sequencer accepts events in any partition',
    file: 'apps/sequencer/src/sequencer.ts',
    find: '      if (!this.use.connection.isPlaceOf(event.orgId, record.partition)) {',
    replace: '      if (this.use.connection.isPlaceOf(event.orgId, record.partition) === undefined) {',
  },
  {
    name: 'lost-attempts-made',
    breaks: 'a dispatcher pushes attempts of a partition that it has lost',
    file: 'apps/dispatcher/src/lanes/lane-feeder.ts',
    find: '      if (session.assigned[flight.topic]?.includes(flight.partition) !== true) this.#withdraw(flight);\n',
    replace: '',
  },
  {
    name: 'history-routed',
    breaks: 'an endpoint is sent events from before it was created',
    file: 'libs/domain/src/delivery/receiving-times.ts',
    find: "  if (precedes(event, created)) return 'before_endpoint';\n",
    replace: '',
  },
  {
    name: 'feed-taken-for-log',
    breaks: 'an endpoint starts and stops receiving at the position of the feed, which lags',
    file: 'libs/domain/src/delivery/receiving-times.ts',
    find: '  return seq <= afterSeq || (endOffset !== null && offset < endOffset);',
    replace: '  return seq <= afterSeq || (endOffset === -1 && offset < endOffset);',
  },
  {
    name: 'period-begins-early',
    breaks: 'events from before an endpoint became inactive count as later ones, if the feed lagged',
    file: 'libs/domain/src/delivery/receiving-times.ts',
    find: '!stoodIn(event, began) && precedes(event, ended)',
    replace: 'event.seq > began.afterSeq && precedes(event, ended)',
  },
  {
    name: 'tail-not-read',
    breaks: 'a sequencer that starts does not read the tail of the log',
    file: 'apps/sequencer/src/restore-partitions.ts',
    find: '      draft.fold.replay({ ...event, timeMs: event.inboxTimeMs }, record.offset);\n',
    replace: '',
  },
  {
    name: 'uncertain-write-trusted',
    breaks: 'a sequencer trusts a write that may have failed',
    file: 'apps/sequencer/src/sequencer.ts',
    find: `      // The fold is ahead of the log, and only the log shows whether the write happened.
      this.#states.delete(partition);
`,
    replace: '',
  },
  {
    name: 'repeats-read',
    breaks: 'a reader of the log takes a repeat for a new event',
    file: 'libs/domain/src/sequencing/seq-gate.ts',
    find: '      if (seq <= after) return false;\n',
    replace: '',
  },
  {
    name: 'commits-overtake',
    breaks: 'two commits of a group are in flight, and the earlier one arrives last',
    file: 'libs/kafka-log/src/positions/offset-commits.ts',
    find: '    this.#running = this.#running.then(() => this.#commit());',
    replace: '    this.#running = this.#commit();',
  },
  {
    name: 'heads-kept',
    breaks: 'a projector does not notice that a batch was stored without its knowledge',
    file: 'libs/postgres/src/projections/feed-projection.ts',
    find: `        this.#forgetHeads(stretch);
        return applied(stretch, stretch.nextOffset);`,
    replace: '        return applied(stretch, stretch.nextOffset);',
  },
  {
    name: 'unfinished-committed',
    breaks: 'the offset moves behind a batch that is not finished yet',
    file: 'apps/dispatcher/src/routing/route-log.handler.ts',
    find: '    stay.unfinished.push(large);',
    replace: '    for (const { record } of left) record.close();\n    stay.unfinished.push(large);',
  },
  {
    name: 'chain-not-awaited',
    breaks: 'a router that has just got a partition does not wait for the deliveries of the one before',
    file: 'apps/dispatcher/src/routing/endpoint-chains.ts',
    find: 'stored.projectedTo < (factsEnds.get(partition) ?? 0)',
    replace: 'stored.projectedTo < 0 * (factsEnds.get(partition) ?? 0)',
  },
  {
    name: 'order-not-kept',
    breaks: 'a lane goes on with its next deliveries while others of it are under way',
    file: 'apps/dispatcher/src/pacing/ordered/ordered-lanes.ts',
    find: 'if (first === undefined || this.flying.length > 0 || this.waits(clockMs)) return undefined;',
    replace: 'if (first === undefined || this.waits(clockMs)) return undefined;',
  },
  {
    name: 'order-from-now',
    breaks: 'an endpoint that becomes ordered does not wait for what is on its way without an order',
    file: 'apps/dispatcher/src/pacing/ordered/order-start.ts',
    find: 'factsEnd: null, isReady }',
    replace: 'factsEnd: null, isReady: true }',
  },
];
