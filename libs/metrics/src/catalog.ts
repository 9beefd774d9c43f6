import type { MetricDefinition } from './metric-definition.js';

/** From what a broker or a database near by needs, to what a person notices. */
const WORK_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From a good answer to the timeout of a delivery. */
const PUSH_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
/** From a pipeline at rest to one that has to catch up. */
const DELAY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800];
const RECORDS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** All that Gapless measures. Beside it, `/metrics` has what every Node process has (`process_…`, `nodejs_…`). */
export const METRICS = {
  gapless_build_info: {
    kind: 'gauge',
    help: 'Always 1; tells which version runs.',
    labels: ['app', 'version'],
  },
  gapless_ready: {
    kind: 'gauge',
    help: 'Whether /health/ready answers 200.',
    labels: [],
  },
  gapless_postgres_connections: {
    kind: 'gauge',
    help: 'Connections of the process to Postgres, by whether a query runs on them.',
    labels: ['state'],
  },
  gapless_postgres_queries_waiting: {
    kind: 'gauge',
    help: 'Queries that wait for a connection.',
    labels: [],
  },

  gapless_consumer_lag_records: {
    kind: 'gauge',
    help: 'Records that are not handled yet, of the partitions that the process reads. Of retry topics: how many retries wait.',
    labels: ['group', 'topic'],
  },
  gapless_consumer_lag_seconds: {
    kind: 'gauge',
    help: 'For how long the oldest record that is not handled yet has been there. Retries wait on purpose.',
    labels: ['group', 'topic'],
  },
  gapless_batch_records: {
    kind: 'histogram',
    help: 'Records that are handled together.',
    labels: ['group'],
    buckets: RECORDS,
  },
  gapless_batch_duration_seconds: {
    kind: 'histogram',
    help: 'How long it takes to handle a batch once, without the tries that failed.',
    labels: ['group'],
    buckets: WORK_SECONDS,
  },
  gapless_batch_failures_total: {
    kind: 'counter',
    help: 'Batches that could not be handled and were tried again.',
    labels: ['group'],
  },
  gapless_topics_at_risk: {
    kind: 'gauge',
    help: 'Topics that had fewer replicas than they need when the process started, while there were brokers for more.',
    labels: [],
  },
  gapless_partitions_stopped: {
    kind: 'gauge',
    help: 'Partitions that stand still until somebody acts. Always 0.',
    labels: ['group'],
  },
  gapless_records_removed_unread_total: {
    kind: 'counter',
    help: 'Records that retention removed before they were read. Always 0.',
    labels: ['group'],
  },
  gapless_produced_records_total: {
    kind: 'counter',
    help: 'Records that the brokers have acknowledged, by topic without its prefix and version.',
    labels: ['topic'],
  },
  gapless_produce_duration_seconds: {
    kind: 'histogram',
    help: 'How long the brokers take to acknowledge a request.',
    labels: [],
    buckets: WORK_SECONDS,
  },
  gapless_produce_failures_total: {
    kind: 'counter',
    help: 'Produce requests that failed after all repetitions.',
    labels: [],
  },

  gapless_sequencer_repeats_total: {
    kind: 'counter',
    help: 'Events that were left out since their org has an event of the same id.',
    labels: [],
  },
  gapless_ingest_lag_seconds: {
    kind: 'gauge',
    help: 'How long ago the oldest event came that may not be in the feed yet, at most; above 600, ids cannot be checked.',
    labels: [],
  },
  gapless_sequencer_old_stamps_total: {
    kind: 'counter',
    help: 'Inbox records whose `checked-to` is too far before the log that the sequencer knows; it was ignored.',
    labels: [],
  },
  gapless_sequence_checked_total: {
    kind: 'counter',
    help: 'Records of the log whose seq was checked against the one before it.',
    labels: ['check'],
  },
  gapless_sequence_gaps_total: {
    kind: 'counter',
    help: 'Seqs that are missing in the log. Always 0.',
    labels: ['check'],
  },
  gapless_sequence_repeats_total: {
    kind: 'counter',
    help: 'Seqs that stand in the log again; every reader skips them.',
    labels: ['check'],
  },
  gapless_sequence_mismatches_total: {
    kind: 'counter',
    help: 'Records that are not what they have to be. Always 0.',
    labels: ['check'],
  },

  gapless_deliveries_scheduled_total: {
    kind: 'counter',
    help: 'Deliveries that the router scheduled.',
    labels: [],
  },
  gapless_router_skipped_total: {
    kind: 'counter',
    help: 'Events that were routed before (routed_before), and deliveries of events from before the endpoint was created (before_endpoint) or from when it was inactive (while_inactive). None of them is pushed.',
    labels: ['reason'],
  },

  gapless_attempts_total: {
    kind: 'counter',
    help: 'Attempts by what follows (delivered, retry, exhausted) and by the class of the error.',
    labels: ['outcome', 'error'],
  },
  gapless_push_duration_seconds: {
    kind: 'histogram',
    help: 'From the start of a POST to its answer or failure.',
    labels: ['result'],
    buckets: PUSH_SECONDS,
  },
  gapless_first_push_delay_seconds: {
    kind: 'histogram',
    help: 'From the append of an event to the log to the answer to its first push.',
    labels: [],
    buckets: DELAY_SECONDS,
  },
  gapless_attempts_in_flight: {
    kind: 'gauge',
    help: 'POSTs that wait for their answer.',
    labels: ['lane'],
  },
  gapless_attempts_held: {
    kind: 'gauge',
    help: 'Attempts that a lane has taken up, in flight and waiting for their turn.',
    labels: ['lane'],
  },
  gapless_sluggish_endpoints: {
    kind: 'gauge',
    help: 'Endpoints that answer late and get a small share of the lane.',
    labels: ['lane'],
  },
  gapless_attempts_diverted_total: {
    kind: 'counter',
    help: 'Attempts that their endpoint had no room for, and that went to the slow lane.',
    labels: [],
  },
  gapless_retry_lateness_seconds: {
    kind: 'histogram',
    help: 'How long after they were due retries were handed over to the lanes; the first of each batch.',
    labels: [],
    buckets: DELAY_SECONDS,
  },
  gapless_attempts_reconciled_total: {
    kind: 'counter',
    help: 'Attempts whose record was lost and that were put back.',
    labels: [],
  },
  gapless_reconciler_last_look_timestamp_seconds: {
    kind: 'gauge',
    help: 'When it was last looked whether attempts were lost, or when the process started. One dispatcher looks for all.',
    labels: [],
  },
  gapless_reconciler_failures_total: {
    kind: 'counter',
    help: 'Looks for lost attempts that failed and were tried again.',
    labels: [],
  },
  gapless_reconciler_endpoints_waiting: {
    kind: 'gauge',
    help: 'Endpoints with overdue attempts that wait in a lane, or of which it is not known yet whether they do.',
    labels: [],
  },

  gapless_projection_transaction_seconds: {
    kind: 'histogram',
    help: 'How long Postgres takes to apply a batch, reading included.',
    labels: ['projection'],
    buckets: WORK_SECONDS,
  },
  gapless_projection_age_seconds: {
    kind: 'histogram',
    help: 'From the append of a record to when Postgres shows it; the oldest of each batch.',
    labels: ['projection'],
    buckets: DELAY_SECONDS,
  },
  gapless_endpoints: {
    kind: 'gauge',
    help: 'Registered endpoints: active, disabled by failures, or by an operator. Every projector tells all.',
    labels: ['state'],
  },
  gapless_backlog_endpoints: {
    kind: 'gauge',
    help: 'Disabled (settle) and deleted (remove) endpoints whose rows are not up to date yet. Nobody sees a difference.',
    labels: ['kind'],
  },
  gapless_backlog_rows_total: {
    kind: 'counter',
    help: 'Rows of disabled (settle) and deleted (remove) endpoints that were brought up to date.',
    labels: ['kind'],
  },

  gapless_http_requests_total: {
    kind: 'counter',
    help: 'Answers by the pattern of the route.',
    labels: ['method', 'route', 'status'],
  },
  gapless_http_request_duration_seconds: {
    kind: 'histogram',
    help: 'How long answers take, without those that wait for events on purpose.',
    labels: ['method', 'route'],
    buckets: WORK_SECONDS,
  },
} as const satisfies Readonly<Record<`gapless_${string}`, MetricDefinition>>;

type Catalog = typeof METRICS;

/** The metrics of a kind. */
export type MetricName<Kind extends MetricDefinition['kind']> = {
  [Name in keyof Catalog]: Catalog[Name]['kind'] extends Kind ? Name : never;
}[keyof Catalog];

/** A value for each label of a metric. */
export type MetricLabels<Name extends keyof Catalog> = Readonly<Record<Catalog[Name]['labels'][number], string>>;
