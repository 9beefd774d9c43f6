import type { Activity, Endpoint, EndpointWithHealth, HealthStatus } from '../api/resources.js';
import { wholeNumber } from '../charts/scale.js';

/** The activity by endpoint, for each answer of the api. Lists of thousands of endpoints look it up for every one. */
const byEndpoint = new WeakMap<readonly Activity[], ReadonlyMap<string, Activity>>();

/** Returns the activity of an endpoint. `undefined` if the list of endpoints is newer. */
export function activityOf(id: string, activity: readonly Activity[] | undefined): Activity | undefined {
  if (activity === undefined) return undefined;
  const known = byEndpoint.get(activity) ?? new Map(activity.map((each) => [each.endpoint_id, each]));
  byEndpoint.set(activity, known);
  return known.get(id);
}

/** Returns the health of an endpoint for lists. Until the activity is known, only its own figures say something. */
export function healthOf(
  { id, is_active: isActive, failure_count: failures, last_triggered_at: last }: Endpoint,
  activity: readonly Activity[] | undefined,
): HealthStatus {
  const known = activityOf(id, activity)?.health.status;
  // The list of endpoints may be newer than their activity.
  if (known !== undefined && isActive === isActiveIn(known)) return known;
  if (!isActive) return failures > 0 ? 'disabled' : 'paused';
  if (last === null) return 'never_tried';
  return failures > 0 ? 'failing' : 'healthy';
}

function isActiveIn(status: HealthStatus): boolean {
  return status !== 'disabled' && status !== 'paused';
}

const URGENCY: Readonly<Record<HealthStatus, number>> = {
  disabled: 0,
  failing: 1,
  paused: 2,
  never_tried: 3,
  healthy: 4,
};

/** Sorts endpoints that need attention first. Equal ones keep the api's order. */
export function byUrgency(
  endpoints: readonly Endpoint[],
  activity: readonly Activity[] | undefined,
): readonly Endpoint[] {
  const urgency = (endpoint: Endpoint) => URGENCY[healthOf(endpoint, activity)];
  return endpoints.toSorted((a, b) => urgency(a) - urgency(b));
}

/** The share of recent deliveries that may fail before a page offers to recover them. */
const TOLERATED_SHARE = 0.05;

/** Whether much failed recently. The endpoint may be healthy now: what failed before it was enabled is not sent by itself. */
export function hasFailedMuch({
  is_active: isActive,
  health: { status, recent_deliveries: tried, recent_failed: failed },
}: EndpointWithHealth): boolean {
  return status === 'failing' || (isActive && failed > tried * TOLERATED_SHARE);
}

const AUTO_DISABLED: Readonly<Record<string, string>> = {
  consecutive_failures: 'too many failed attempts in a row',
  gone: 'the endpoint answered 410 Gone',
};

/** Returns why an endpoint was disabled automatically; `undefined` if it was not. */
export function autoDisabledText(reason: string | null): string | undefined {
  return AUTO_DISABLED[reason ?? ''];
}

/** `3 failed attempts in a row` */
export function inARowText(failures: number): string {
  return failures === 1 ? '1 failed attempt in a row' : `${failures.toLocaleString()} failed attempts in a row`;
}

/** `37 of 120 failed in the last hour`; `undefined` if none failed. */
export function failedText({
  recent_deliveries: tried,
  recent_failed: failed,
}: Pick<Activity['health'], 'recent_deliveries' | 'recent_failed'>): string | undefined {
  if (failed === 0) return undefined;
  return `${failed.toLocaleString()} of ${tried.toLocaleString()} failed in the last hour`;
}

/** The API counts pending deliveries up to this number. */
const COUNTED_PENDING = 10_000;

/** `37`, `10,000+`: how many deliveries of an endpoint wait. */
export function pendingText(pending: number): string {
  return pending < COUNTED_PENDING ? wholeNumber(pending) : `${wholeNumber(COUNTED_PENDING)}+`;
}
