import type { DeliveryDetail, EndpointWithHealth } from '../api/resources.js';
import { millisecondsText } from '../time/time-text.js';
import { useNow } from '../time/use-now.js';
import { Card } from '../ui/card.js';
import { Time } from '../ui/time.js';
import { waitsOf, type Wait, type WaitReason } from './waits.js';
import './wait-list.css';

const OVER: Readonly<Record<WaitReason, string>> = {
  order: 'Waited for its turn in the order',
  pace: 'Waited for a place in the limits of the endpoint',
  slow_lane: 'Waited in the lane of slow endpoints',
  queue: 'Waited to be sent',
  retry: 'Waited for the next attempt',
  resend: 'Not sent until it was recovered or replayed',
};

const OPEN: Readonly<Partial<Record<WaitReason, string>>> = {
  order: 'Waits for its turn in the order',
  pace: 'Waits for a place in the limits of the endpoint',
  queue: 'Waits to be sent',
  retry: 'Waits for the next attempt',
  resend: 'Waits to be sent again',
};

interface WaitListProps {
  readonly delivery: DeliveryDetail;
  readonly endpoint: EndpointWithHealth;
}

/** Shows how long a delivery waited and why, as bars on its time; nothing for one that went at once. */
export function WaitList({ delivery, endpoint }: WaitListProps) {
  const now = useNow(1_000);
  const { ordering, max_per_second, max_in_flight } = endpoint;
  const isOrdered = ordering.by !== 'none';
  const isPaced = max_per_second !== null || max_in_flight !== null;
  const waits = waitsOf(delivery, { isOrdered, isPaced }, now);
  if (waits.length === 0) return null;
  const beganMs = Date.parse(delivery.created_at);
  const lastAttempt = delivery.attempts_log.at(-1);
  const attemptedMs = lastAttempt === undefined ? beganMs : Date.parse(lastAttempt.at) + lastAttempt.duration_ms;
  const spanMs = Math.max(attemptedMs, waits.at(-1)?.toMs ?? beganMs) - beganMs;
  const waitedMs = waits.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  return (
    <Card title="Waits" note={`${millisecondsText(waitedMs)} of ${millisecondsText(spanMs)} since the event`}>
      <ol className="waits">
        {waits.map((wait) => (
          <WaitEntry key={wait.fromMs} wait={wait} beganMs={beganMs} spanMs={spanMs} />
        ))}
      </ol>
    </Card>
  );
}

function WaitEntry({
  wait: { reason, fromMs, toMs, isOpen },
  beganMs,
  spanMs,
}: {
  readonly wait: Wait;
  readonly beganMs: number;
  readonly spanMs: number;
}) {
  const share = (ms: number) => `${(100 * ms) / spanMs}%`;
  return (
    <li className="wait">
      <p className="wait-head">
        <span>{(isOpen ? OPEN[reason] : undefined) ?? OVER[reason]}</span>
        <strong className="nowrap numeric">{millisecondsText(toMs - fromMs)}</strong>
      </p>
      <div className="wait-track" aria-hidden="true">
        <span
          className={`wait-bar wait-${reason}`}
          style={{ insetInlineStart: share(fromMs - beganMs), width: share(toMs - fromMs) }}
        />
      </div>
      <p className="wait-when">
        <Time iso={new Date(fromMs).toISOString()} /> to {isOpen ? 'now' : <Time iso={new Date(toMs).toISOString()} />}
      </p>
    </li>
  );
}
