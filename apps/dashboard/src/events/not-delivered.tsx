import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { eventAnswersQuery } from '../api/queries.js';
import type { EventAnswer } from '../api/resources.js';
import { endpointTitle } from '../endpoints/endpoint-title.js';
import { Name } from '../ui/name.js';
import { FailureNotice } from '../ui/notice.js';
import { Time } from '../ui/time.js';

/** With more, the list is closed at first. */
const OPEN_UP_TO = 5;

/** Lists the endpoints that have no delivery of the event, each with the reason. */
export function NotDelivered({ eventId }: { readonly eventId: string }) {
  const { data: answers, error, refetch } = useQuery(eventAnswersQuery(eventId));
  if (answers === undefined) {
    if (error === null) return null;
    return (
      <div className="card-body">
        <FailureNotice error={error} onRetry={() => void refetch()} />
      </div>
    );
  }
  const others = answers.filter(({ delivery }) => delivery === null);
  if (others.length === 0) return null;
  return (
    <details className="event-others" open={others.length <= OPEN_UP_TO}>
      <summary>Not sent to {others.length === 1 ? '1 endpoint' : `${others.length} endpoints`}</summary>
      <ul>
        {others.map((other) => (
          <li key={other.endpoint_id} className="event-other">
            <EndpointName answer={other} />
            <span className="muted">
              <Reason answer={other} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function EndpointName({ answer }: { readonly answer: EventAnswer }) {
  const name = <Name>{endpointTitle({ name: answer.endpoint_name, url: answer.url })}</Name>;
  if (answer.deleted_at !== null) {
    return (
      <span className="truncate">
        {name} <span className="muted">(deleted)</span>
      </span>
    );
  }
  return (
    <Link className="truncate" to="/endpoints/$endpointId" params={{ endpointId: answer.endpoint_id }}>
      {name}
    </Link>
  );
}

function Reason({
  answer: { answer, filter, inactive_since: since, deleted_at: deletedAt },
}: {
  readonly answer: EventAnswer;
}) {
  switch (answer) {
    case 'not_yet_created':
      return 'Was registered after the event';
    case 'not_subscribed':
      return 'Was not subscribed to the type';
    case 'out_of_scope':
      return 'Did not receive events of the widget';
    case 'filtered':
      return (
        <>
          Its filter was false: <code className="event-filter">{filter}</code>
        </>
      );
    case 'inactive':
      return <>Was inactive, since {since === null ? 'before' : <Time iso={since} />}</>;
    case 'deleted':
      return <>Was deleted at {deletedAt === null ? 'that time' : <Time iso={deletedAt} />}</>;
    case 'pending':
    case 'delivered':
    case 'failed':
      return 'Is on its way';
  }
}
