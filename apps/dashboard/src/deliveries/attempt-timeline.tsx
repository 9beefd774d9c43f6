import type { Attempt, DeliveryDetail } from '../api/resources.js';
import { spacedJson } from '../events/json-text.js';
import { millisecondsText } from '../time/time-text.js';
import { Icon } from '../ui/icon.js';
import { EmptyState } from '../ui/notice.js';
import { Badge } from '../ui/status-badge.js';
import { Ago, Time } from '../ui/time.js';
import { errorText } from './error-text.js';
import './attempt-timeline.css';

interface AttemptTimelineProps {
  readonly delivery: DeliveryDetail;
  /** Whether the endpoint gets its events in an order. */
  readonly isOrdered: boolean;
}

/** Shows the attempts, newest first, below the one that is due. */
export function AttemptTimeline({ delivery, isOrdered }: AttemptTimelineProps) {
  const { attempts_log: attempts, next_attempt_at: next } = delivery;
  if (attempts.length === 0 && next === null) {
    return (
      <EmptyState icon="clock" title="No attempt was made">
        {delivery.last_error === null ? 'It has not been sent yet.' : `${errorText(delivery.last_error)}.`}
      </EmptyState>
    );
  }
  return (
    <ol className="timeline">
      {delivery.status === 'pending' && next !== null && (
        <li className="attempt attempt-due">
          <span className="attempt-mark">
            <Icon name="clock" size={12} />
          </span>
          <p>
            {isOrdered && attempts.length === 0 ? (
              'Waits for its turn'
            ) : (
              <>
                Attempt {delivery.attempts + 1} is due <Ago iso={next} />
              </>
            )}
          </p>
        </li>
      )}
      {withRuns(attempts)
        .toReversed()
        .map(({ attempt, run }) => (
          <AttemptEntry key={`${run} ${attempt.attempt}`} attempt={attempt} isOfEarlierRun={run < runCount(attempts)} />
        ))}
    </ol>
  );
}

function AttemptEntry({ attempt, isOfEarlierRun }: { readonly attempt: Attempt; readonly isOfEarlierRun: boolean }) {
  const isGood = attempt.error === null;
  return (
    <li className={`attempt ${isGood ? 'attempt-good' : 'attempt-bad'}`}>
      <span className="attempt-mark">
        <Icon name={isGood ? 'check' : 'cross'} size={12} />
      </span>
      <div className="attempt-text">
        <p className="attempt-head">
          <strong>Attempt {attempt.attempt}</strong>
          {attempt.response_status !== null && (
            <Badge tone={isGood ? 'good' : 'bad'}>{`HTTP ${attempt.response_status}`}</Badge>
          )}
          {isOfEarlierRun && <Badge tone="off">before a replay</Badge>}
        </p>
        <p className="attempt-when">
          <Time iso={attempt.at} /> · {millisecondsText(attempt.duration_ms)}
          {attempt.batch !== null && attempt.batch.last_seq > attempt.batch.first_seq && (
            <>
              {' '}
              · with #{attempt.batch.first_seq} to #{attempt.batch.last_seq}
            </>
          )}
        </p>
        {attempt.error !== null && <p className="attempt-error">{errorText(attempt.error)}</p>}
        {attempt.response_excerpt !== null && attempt.response_excerpt !== '' && (
          <pre
            className="attempt-excerpt"
            tabIndex={0}
            role="region"
            aria-label={`Answer to attempt ${attempt.attempt}`}
          >
            {readableExcerpt(attempt.response_excerpt)}
          </pre>
        )}
      </div>
    </li>
  );
}

/** Spaces a response that is JSON. An excerpt may end in the middle, and is then shown as it is. */
function readableExcerpt(excerpt: string): string {
  try {
    const value: unknown = JSON.parse(excerpt);
    return typeof value === 'object' && value !== null ? spacedJson(excerpt) : excerpt;
  } catch {
    return excerpt;
  }
}

/** Adds the run of each attempt. Every replay starts a run, in which attempts count from 1 again. */
function withRuns(attempts: readonly Attempt[]): readonly { readonly attempt: Attempt; readonly run: number }[] {
  let run = 0;
  return attempts.map((attempt) => {
    if (attempt.attempt === 1) run++;
    return { attempt, run };
  });
}

function runCount(attempts: readonly Attempt[]): number {
  return attempts.filter(({ attempt }) => attempt === 1).length;
}
