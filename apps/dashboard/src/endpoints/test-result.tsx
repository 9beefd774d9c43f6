import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { deliveryQuery } from '../api/queries.js';
import { resultText } from '../deliveries/ending.js';
import { errorText } from '../deliveries/error-text.js';
import { millisecondsText } from '../time/time-text.js';
import { Notice } from '../ui/notice.js';

interface TestResultProps {
  readonly endpointId: string;
  readonly deliveryId: string;
}

/** Shows the result of a test event, and updates until its first attempt has ended, or the test without one. */
export function TestResult({ endpointId, deliveryId }: TestResultProps) {
  const { data: delivery } = useQuery(deliveryQuery(endpointId, deliveryId));
  const attempt = delivery?.attempts_log.at(-1);
  const more = (
    <Link to="/endpoints/$endpointId/deliveries/$deliveryId" params={{ endpointId, deliveryId }}>
      See the delivery
    </Link>
  );
  if (delivery === undefined || attempt === undefined) {
    // A test that waits for its turn ends with its endpoint.
    return delivery?.status === 'failed' ? (
      <Notice tone="bad" title="The test was not sent">
        {resultText(delivery)}. {more}
      </Notice>
    ) : (
      <Notice tone="accent" icon="clock" title="Test event sent">
        Waiting for your endpoint to answer …
      </Notice>
    );
  }
  const answer = attempt.response_status === null ? '' : `HTTP ${attempt.response_status} `;
  const took = `after ${millisecondsText(attempt.duration_ms)}`;
  return delivery.status === 'delivered' ? (
    <Notice tone="good" icon="check" title="Test delivered">
      {answer}
      {took}. {more}
    </Notice>
  ) : (
    <Notice tone="bad" title="The test failed">
      {attempt.error === null ? answer : `${errorText(attempt.error)} `}
      {took}. {delivery.status === 'pending' && 'It is retried like any event.'} {more}
    </Notice>
  );
}
