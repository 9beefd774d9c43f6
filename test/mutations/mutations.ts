import type { Mutation } from './mutation.js';

const SEQUENCER_SPEC = 'apps/sequencer/src/sequencer.ispec.ts';

/** The breaks that would do the most harm, each with the test that catches it. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'skip-tail-read',
    breaks: 'a sequencer that starts does not read the tail of the log',
    file: 'apps/sequencer/src/restore-partitions.ts',
    find: '      draft.fold.replay({ ...event, timeMs: event.inboxTimeMs }, record.offset);\n',
    replace: '',
    caughtBy: { project: 'integration', file: SEQUENCER_SPEC, name: 'go on from the end of the log after a restart' },
  },
  {
    name: 'trust-uncertain-write',
    breaks: 'a sequencer trusts a write that may have failed',
    file: 'apps/sequencer/src/sequencer.ts',
    find: `      // The fold is ahead of the log, and only the log shows whether the write happened.
      this.#states.delete(partition);
`,
    replace: '',
    caughtBy: {
      project: 'integration',
      file: SEQUENCER_SPEC,
      name: 'leaves neither gap nor repeat when it is made again',
    },
  },
  {
    name: 'write-without-lease',
    breaks: 'a sequencer writes although its lease may have ended',
    file: 'apps/sequencer/src/sequencer.ts',
    find: 'if (state.generation !== session.generation || !session.holdsLease()) {',
    replace: 'if (state.generation !== session.generation) {',
    caughtBy: { project: 'integration', file: SEQUENCER_SPEC, name: 'is not made without a lease' },
  },
  {
    name: 'clock-in-envelope',
    breaks: 'the envelope contains the time of sequencing',
    file: 'apps/sequencer/src/sequencer.ts',
    find: 'envelope: envelopeBytes({ ...event, seq }),',
    replace: 'envelope: envelopeBytes({ ...event, occurredAt: new Date(this.use.clock.now()).toISOString(), seq }),',
    caughtBy: {
      project: 'integration',
      file: SEQUENCER_SPEC,
      name: 'is the envelope, with seq and CloudEvents headers, keyed by its org',
    },
  },
  {
    name: 'skip-repeat-rule',
    breaks: 'a reader of the log takes a repeat for a new event',
    file: 'libs/domain/src/sequencing/seq-gate.ts',
    find: '      if (seq <= after) return false;\n',
    replace: '',
    caughtBy: {
      project: 'unit',
      file: 'libs/domain/src/sequencing/seq-gate.spec.ts',
      name: 'leaves repeats inside a batch out',
    },
  },
  {
    name: 'feed-in-one-database',
    breaks: 'the feed of all partitions goes to the first of the databases that share it',
    file: 'libs/postgres/src/connection/feed-servers.ts',
    find: 'this.all[partition % this.all.length]',
    replace: 'this.all[partition * 0]',
    caughtBy: {
      project: 'integration',
      file: 'libs/postgres/src/connection/feed-servers.ispec.ts',
      name: 'has each org in the database of its partition',
    },
  },
  {
    name: 'feed-places-swapped',
    breaks: 'a list of databases in another order is accepted, so feeds are read from the wrong ones',
    file: 'libs/domain/src/kernel/feed-places.ts',
    find: 'row.place !== expected.place || row.places !== expected.places',
    replace: 'row.places !== expected.places',
    caughtBy: {
      project: 'unit',
      file: 'libs/domain/src/kernel/feed-places.spec.ts',
      name: 'at another place',
    },
  },
  {
    name: 'offset-apart-from-rows',
    breaks: 'the projector commits its offset before its rows',
    file: 'libs/postgres/src/projections/feed-projection.ts',
    find: `    const [outcome] = await store.prepared<{ moved: string }>('apply_feed', APPLY, [
      ...moveParameters(stretch, place),
`,
    replace: `    await store.query(\`with \${MOVED} select from moved\`, moveParameters(stretch, place));
    const [outcome] = await store.prepared<{ moved: string }>('apply_feed', APPLY, [
      ...moveParameters(stretch, { ...place, expected: stretch.nextOffset }),
`,
    caughtBy: {
      project: 'integration',
      file: 'libs/postgres/src/projections/feed-projection.ispec.ts',
      name: 'moves its offset with its rows',
    },
  },
  {
    name: 'exchange-unnoticed',
    breaks: 'a projector goes on in rebuilt tables with the heads of the old ones',
    file: 'libs/postgres/src/projections/projection-offsets.ts',
    find: ' and ${TABLES} = ($4::text[])[2]',
    replace: '',
    caughtBy: {
      project: 'integration',
      file: 'libs/postgres/src/projections/shadow/projection-shadow.ispec.ts',
      name: 'goes on after the heads of the new feed',
    },
  },
  {
    name: 'outcome-counted-twice',
    breaks: 'an outcome whose fact is in the topic twice counts twice',
    file: 'libs/postgres/src/projections/delivery-projection.ts',
    find: "const isNewAttempt = fact.type === 'attempted' && !known.has(key);",
    replace: "const isNewAttempt = fact.type === 'attempted';",
    caughtBy: {
      project: 'integration',
      file: 'libs/postgres/src/projections/delivery-projection.ispec.ts',
      name: 'counts an attempt once whose fact was appended twice',
    },
  },
  {
    name: 'old-run-overwrites-replay',
    breaks: 'a late outcome from before a replay overwrites the replay',
    file: 'libs/domain/src/delivery/delivery-state.ts',
    find: 'return fact.run < before.run || fact.attempt <= before.attempts ? before : afterAttempt(before, fact);',
    replace: 'return fact.attempt <= before.attempts ? before : afterAttempt(before, fact);',
    caughtBy: {
      project: 'unit',
      file: 'libs/domain/src/delivery/delivery-state.spec.ts',
      name: 'from before it comes late',
    },
  },
  {
    name: 'commit-early',
    breaks: 'the offset moves past an attempt that did not end',
    file: 'apps/dispatcher/src/lanes/lane-feeder.ts',
    find: `      this.options.make(due, making, found).then(
        () => {
          record.close();
        },
        (error: unknown) => {
          this.#interrupted(error);
        },
      );
`,
    replace: `      this.options.make(due, making, found).finally(() => {
        record.close();
      });
`,
    caughtBy: {
      project: 'unit',
      file: 'apps/dispatcher/src/lanes/lane-feeder.spec.ts',
      name: 'does not move past an attempt that the end of the process interrupts',
    },
  },
  {
    name: 'commit-out-of-order',
    breaks: 'the offset moves past attempts that have not ended',
    file: 'libs/kafka-log/src/positions/completion-tracker.ts',
    find: 'while (this.#next < this.#taken && !this.#open.has(this.#next)) this.#next++;',
    replace: 'this.#next = Math.max(this.#next, offset + 1);',
    caughtBy: {
      project: 'unit',
      file: 'libs/kafka-log/src/positions/completion-tracker.spec.ts',
      name: 'does not move while the first one is open',
    },
  },
  {
    name: 'sign-printed-json',
    breaks: 'the signature covers a re-serialized envelope',
    file: 'libs/destinations/src/http/push/push-headers.ts',
    find: '      serviceSignature(secrets, timestamp, body),',
    replace: `      serviceSignature(
        secrets,
        timestamp,
        Buffer.from(JSON.stringify(JSON.parse(body.toString()))),
      ),`,
    caughtBy: {
      project: 'unit',
      file: 'libs/destinations/src/http/push/push-headers.spec.ts',
      name: 'are what a consumer verifies, and only with the secret and the bytes that were signed',
    },
  },
  {
    name: 'retry-tier-off-by-one',
    breaks: 'a retry waits as long as the next one should',
    file: 'libs/domain/src/delivery/retry-schedule.ts',
    find: 'schedule[attempt - 1]',
    replace: 'schedule[attempt]',
    caughtBy: {
      project: 'unit',
      file: 'libs/domain/src/delivery/retry-schedule.spec.ts',
      name: 'due its tier later than the end of that attempt',
    },
  },
  {
    name: 'route-history',
    breaks: 'an endpoint is sent events from before it was created',
    file: 'libs/domain/src/delivery/receiving-times.ts',
    find: "if (precedes(event, created)) return 'before_endpoint';",
    replace: '',
    caughtBy: {
      project: 'unit',
      file: 'apps/dispatcher/src/routing/route-log.handler.spec.ts',
      name: 'receives nothing from before it was created, and everything after',
    },
  },
  {
    name: 'drop-unanswered',
    breaks: 'an endpoint does not get events for which its filter has no answer',
    file: 'libs/domain/src/delivery/subscription.ts',
    find: "      return { kind: 'received_unfiltered', reason: result.reason };",
    replace: "      return { kind: 'filtered' };",
    caughtBy: {
      project: 'unit',
      file: 'apps/dispatcher/src/routing/route-log.handler.spec.ts',
      name: 'receives the events for which the filter has no answer',
    },
  },
  {
    name: 'route-again',
    breaks: 'a router without offsets routes the log from its beginning',
    file: 'libs/domain/src/delivery/routed-place.ts',
    find: 'return record.offset < place.nextOffset && record.timestampMs <= place.appendedUntilMs;',
    replace: 'return record.offset < place.nextOffset && record.timestampMs < 0;',
    caughtBy: {
      project: 'unit',
      file: 'apps/dispatcher/src/routing/route-log.handler.spec.ts',
      name: 'routes nothing again that was routed by the router before it',
    },
  },
  {
    name: 'trust-short-replica-page',
    breaks: 'a page from a replica counts although events may be missing on it',
    file: 'libs/postgres/src/feed/reading/feed-reader.ts',
    find: 'if (page.oldest === null) return false;',
    replace: 'if (page.found >= 0) return true;',
    caughtBy: {
      project: 'integration',
      file: 'libs/postgres/src/feed/reading/feed-replicas.ispec.ts',
      name: 'come from the primary if the replica has not all of it',
    },
  },
  {
    name: 'late-read-sent',
    breaks: 'an ordered lane sends what was asked for before its queue was given up',
    file: 'apps/dispatcher/src/pacing/ordered/ordered-lanes.ts',
    find: '    this.#hasGivenUp = true;\n',
    replace: '',
    caughtBy: {
      project: 'unit',
      file: 'apps/dispatcher/src/pacing/ordered/ordered-lanes.spec.ts',
      name: 'does not send what was asked for before an attempt',
    },
  },
];
