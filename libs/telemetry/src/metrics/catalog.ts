import type { MetricDefinition } from './metric-definition.js';

/** From one request to a nearby broker or database, up to delays that users notice. */
const WORK_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From a fast answer up to twice the timeout of a delivery. */
const PUSH_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
/** From an idle pipeline up to one that has to catch up. */
const DELAY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800];
const RECORDS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** Every metric of Gapless. `/metrics` adds those of every Node process (`process_…`, `nodejs_…`). */
export const METRICS = {
  gapless_build_info: {
    kind: 'gauge',
    help: 'Always 1; its labels name the version that runs.',
    labels: ['app', 'version'],
    ofThreads: 'min',
  },
  gapless_ready: {
    kind: 'gauge',
    help: '1 if /health/ready answers 200, otherwise 0.',
    labels: [],
    ofThreads: 'min',
  },
  gapless_postgres_connections: {
    kind: 'gauge',
    help: 'Connections of the process to Postgres, by state: busy with a query, or idle.',
    labels: ['state'],
  },
  gapless_feed_server_up: {
    kind: 'gauge',
    help: 'Whether the process reaches a database that shares the feed, besides the main one: 1, otherwise 0.',
    labels: ['server'],
    ofThreads: 'min',
  },
  gapless_replica_up: {
    kind: 'gauge',
    help: 'Whether the api reads pages of the feed from a replica: 1, otherwise 0.',
    labels: ['server'],
  },
  gapless_replica_lag_seconds: {
    kind: 'gauge',
    help: 'The age of what a replica holds, at most. It is measured each second, so up to 2 s is usual.',
    labels: ['server'],
  },
  gapless_replica_reads_total: {
    kind: 'counter',
    help: 'Pages read from a replica, by outcome. Except for served ones, the primary was asked.',
    labels: ['server', 'outcome'],
  },
  gapless_postgres_queries_waiting: {
    kind: 'gauge',
    help: 'Queries that wait for a connection.',
    labels: [],
  },

  gapless_consumer_lag_records: {
    kind: 'gauge',
    help: 'Records that are not handled yet, in the partitions of the process. In retry topics: retries that wait.',
    labels: ['group', 'topic'],
  },
  gapless_consumer_lag_seconds: {
    kind: 'gauge',
    help: 'Age of the oldest record that is not handled yet. Retries wait on purpose.',
    labels: ['group', 'topic'],
  },
  gapless_batch_records: {
    kind: 'histogram',
    help: 'Records in a batch.',
    labels: ['group'],
    buckets: RECORDS,
  },
  gapless_batch_duration_seconds: {
    kind: 'histogram',
    help: 'Time to handle a batch, without failed tries.',
    labels: ['group'],
    buckets: WORK_SECONDS,
  },
  gapless_batch_failures_total: {
    kind: 'counter',
    help: 'Batches that failed and are tried again.',
    labels: ['group'],
  },
  gapless_topics_at_risk: {
    kind: 'gauge',
    help: 'Topics that have too few replicas, although there are brokers for more.',
    labels: [],
  },
  gapless_topics_misfit: {
    kind: 'gauge',
    help: 'Settings of topics that break a promise since somebody altered them. Should be 0.',
    labels: [],
  },
  gapless_partitions_failing: {
    kind: 'gauge',
    help: 'Partitions whose batch failed, and has not succeeded since then.',
    labels: ['group'],
  },
  gapless_partitions_stopped: {
    kind: 'gauge',
    help: 'Partitions that stopped and wait for an operator. Should be 0.',
    labels: ['group'],
  },
  gapless_open_transaction_seconds: {
    kind: 'gauge',
    help: 'For how long a producer has kept a partition from its readers by an open transaction.',
    labels: ['group'],
  },
  gapless_records_removed_unread_total: {
    kind: 'counter',
    help: 'Records that retention removed before the group read them. Should be 0.',
    labels: ['group'],
  },
  gapless_produced_records_total: {
    kind: 'counter',
    help: 'Records that the brokers acknowledged, by topic without prefix and version.',
    labels: ['topic'],
  },
  gapless_produce_duration_seconds: {
    kind: 'histogram',
    help: 'Time until the brokers acknowledge a produce request.',
    labels: [],
    buckets: WORK_SECONDS,
  },
  gapless_produce_failures_total: {
    kind: 'counter',
    help: 'Produce requests that failed after all retries, and each time that a partition refused its records.',
    labels: [],
  },

  gapless_sequencer_repeats_total: {
    kind: 'counter',
    help: 'Events that the sequencer skipped because their organization has an event with the same id.',
    labels: [],
  },
  gapless_ingest_lag_seconds: {
    kind: 'gauge',
    help: 'Upper bound of the age of the oldest event that may not be in the feed yet. Above 600, the API cannot check ids.',
    labels: [],
  },
  gapless_sequencer_old_stamps_total: {
    kind: 'counter',
    help: 'Inbox records whose `checked-to` is older than the part of the log that the sequencer knows. The sequencer ignored it.',
    labels: [],
  },
  gapless_sequencer_checkpoint_failures_total: {
    kind: 'counter',
    help: 'Checkpoints of the sequencer that Kafka did not accept. They are tried again, and a restart reads more of the log meanwhile.',
    labels: [],
  },
  gapless_sequence_checked_total: {
    kind: 'counter',
    help: 'Records of the log whose seq was compared with the one before.',
    labels: ['check'],
  },
  gapless_sequence_gaps_total: {
    kind: 'counter',
    help: 'Seqs that are missing in the log. Must be 0.',
    labels: ['check'],
  },
  gapless_sequence_repeats_total: {
    kind: 'counter',
    help: 'Records that repeat a seq of the log. Every reader skips them.',
    labels: ['check'],
  },
  gapless_sequence_mismatches_total: {
    kind: 'counter',
    help: 'Records that differ from what was expected. Must be 0.',
    labels: ['check'],
  },

  gapless_deliveries_scheduled_total: {
    kind: 'counter',
    help: 'Deliveries that were found for events of the log.',
    labels: [],
  },
  gapless_router_skipped_total: {
    kind: 'counter',
    help: 'Events that were routed before (routed_before), are older than the endpoint (before_endpoint), or came while it was inactive (while_inactive). None of them is pushed.',
    labels: ['reason'],
  },
  gapless_router_previous_unknown_total: {
    kind: 'counter',
    help: 'Deliveries whose pushes have no X-Service-Previous-Sequence, because the projector was behind when a router got the partition.',
    labels: [],
  },
  gapless_filter_results_total: {
    kind: 'counter',
    help: 'Events that the filters of endpoints left out (left_out), and events that were delivered because a filter had no answer (failed).',
    labels: ['result'],
  },

  gapless_attempts_total: {
    kind: 'counter',
    help: 'Attempts by outcome (delivered, retry, exhausted) and by class of error. A request with a batch of events is one.',
    labels: ['outcome', 'error'],
  },
  gapless_push_duration_seconds: {
    kind: 'histogram',
    help: 'Time from the start of a POST to its response or failure.',
    labels: ['result'],
    buckets: PUSH_SECONDS,
  },
  gapless_first_push_delay_seconds: {
    kind: 'histogram',
    help: 'Time from the append of an event to the log to the response to its first push.',
    labels: [],
    buckets: DELAY_SECONDS,
  },
  gapless_attempts_in_flight: {
    kind: 'gauge',
    help: 'POSTs that wait for a response.',
    labels: ['lane'],
  },
  gapless_attempts_held: {
    kind: 'gauge',
    help: 'Attempts that a lane holds: in flight, or waiting for their turn.',
    labels: ['lane'],
  },
  gapless_sluggish_endpoints: {
    kind: 'gauge',
    help: 'Endpoints that respond slowly and get a small share of the lane.',
    labels: ['lane'],
  },
  gapless_attempts_diverted_total: {
    kind: 'counter',
    help: 'Attempts that moved to the slow lane because their endpoint has no room in the main lane.',
    labels: [],
  },
  gapless_retry_lateness_seconds: {
    kind: 'histogram',
    help: 'How late retries reach the lanes, measured at the first of each batch.',
    labels: [],
    buckets: DELAY_SECONDS,
  },
  gapless_egress_proxy_away: {
    kind: 'gauge',
    help: 'Whether the egress proxy cannot be reached or does not answer (1), so that pushes wait. 0 without one.',
    labels: [],
  },
  gapless_attempts_reconciled_total: {
    kind: 'counter',
    help: 'Attempts that were put back, because their record was lost or their endpoint could not be read.',
    labels: [],
  },
  gapless_reconciler_last_look_timestamp_seconds: {
    kind: 'gauge',
    help: 'Time of the last search for lost attempts, or of the start of the process. One dispatcher searches for all.',
    labels: [],
  },
  gapless_reconciler_failures_total: {
    kind: 'counter',
    help: 'Searches for lost attempts that failed and are tried again.',
    labels: [],
  },
  gapless_reconciler_endpoints_waiting: {
    kind: 'gauge',
    help: 'Endpoints with overdue attempts that wait in a lane or the log, or may do so.',
    labels: [],
  },

  gapless_projection_transaction_seconds: {
    kind: 'histogram',
    help: 'Time to apply a batch in Postgres, including its reads.',
    labels: ['projection'],
    buckets: WORK_SECONDS,
  },
  gapless_projection_age_seconds: {
    kind: 'histogram',
    help: 'Time from the append of a record until Postgres shows it, measured at the oldest of each batch.',
    labels: ['projection'],
    buckets: DELAY_SECONDS,
  },
  gapless_endpoints: {
    kind: 'gauge',
    help: 'Registered endpoints: active, disabled by failures, or disabled by an operator. Every projector reports all of them.',
    labels: ['state'],
  },
  gapless_pruned_timestamp_seconds: {
    kind: 'gauge',
    help: 'Time at which everything past retention was last removed from Postgres, or of the start of the process. Each projector removes all of it.',
    labels: [],
  },
  gapless_backlog_endpoints: {
    kind: 'gauge',
    help: 'Disabled (settle) and deleted (remove) endpoints whose rows are not up to date yet. Readers see no difference.',
    labels: ['kind'],
  },
  gapless_backlog_rows_total: {
    kind: 'counter',
    help: 'Rows of disabled (settle) and deleted (remove) endpoints that were updated.',
    labels: ['kind'],
  },

  gapless_operational_events_total: {
    kind: 'counter',
    help: 'Operational events that were raised for the operations organization, by type.',
    labels: ['type'],
  },
  gapless_operational_events_skipped_total: {
    kind: 'counter',
    help: 'Operational events that were not raised, because they are about failures of the operations organization itself.',
    labels: [],
  },
  gapless_alerting_events_skipped_total: {
    kind: 'counter',
    help: 'Events for the queue of live chats without a usable conversation.id: they change no queue, and raise no alert.',
    labels: [],
  },
  gapless_alerts_raised_total: {
    kind: 'counter',
    help: 'Alerts for live chats that wait too long, by stage: 1, and 2 for the escalation.',
    labels: ['stage'],
  },
  gapless_alerting_swept_timestamp_seconds: {
    kind: 'gauge',
    help: 'Time up to which all waiting chats were looked at as often as SWEEP_INTERVAL says. Each alerting process looks at all.',
    labels: [],
  },
  gapless_alert_mails_total: {
    kind: 'counter',
    help: 'Attempts to mail a staff alert, by outcome: sent, retry, exhausted after the last one, untried if it was too old, or limited by ALERT_MAILS_PER_HOUR.',
    labels: ['outcome'],
  },

  gapless_http_requests_total: {
    kind: 'counter',
    help: 'Responses, by method, route and status.',
    labels: ['method', 'route', 'status'],
  },
  gapless_http_request_duration_seconds: {
    kind: 'histogram',
    help: 'Response time, without requests that wait for events on purpose.',
    labels: ['method', 'route'],
    buckets: WORK_SECONDS,
  },
} as const satisfies Readonly<Record<`gapless_${string}`, MetricDefinition>>;

type Catalog = typeof METRICS;

/** The names of the metrics of a kind. */
export type MetricName<Kind extends MetricDefinition['kind']> = {
  [Name in keyof Catalog]: Catalog[Name]['kind'] extends Kind ? Name : never;
}[keyof Catalog];

/** A value for each label of a metric. */
export type MetricLabels<Name extends keyof Catalog> = Readonly<Record<Catalog[Name]['labels'][number], string>>;
