import { Link } from '@tanstack/react-router';
import type { RaisedAlert } from '../api/resources.js';
import { Badge } from '../ui/status-badge.js';
import { Time } from '../ui/time.js';
import { ChatLink } from './chat-link.js';
import { StageBadge } from './stage-badge.js';
import './alert-table.css';

const CLEARED: Readonly<Record<NonNullable<RaisedAlert['cleared_by']>, string>> = {
  picked_up: 'picked up',
  abandoned: 'visitor left',
  completed: 'completed',
  handed_off: 'queued again',
  expired: 'waited too long',
};

/** Alerts, and how each was cleared. */
export function AlertTable({ alerts }: { readonly alerts: readonly RaisedAlert[] }) {
  return (
    <table className="table alert-table">
      <thead>
        <tr>
          <th scope="col">Alert</th>
          <th scope="col">Chat</th>
          <th scope="col" className="wide-only">
            Raised
          </th>
          <th scope="col">Cleared</th>
        </tr>
      </thead>
      <tbody>
        {alerts.map((alert) => (
          <tr key={alert.alert_id}>
            <td>
              <Link to="/find" search={{ q: alert.event_id }} title="The event of the alert">
                <StageBadge stage={alert.stage} />
              </Link>
            </td>
            <td className="truncate">
              <ChatLink chat={alert} />
              {alert.visitor_name !== null && (
                <span className="muted">
                  {' · '}
                  <bdi>{alert.visitor_name}</bdi>
                </span>
              )}
            </td>
            <td className="wide-only muted">
              <Time iso={alert.raised_at} />
            </td>
            <td className="muted">
              <Clearing alert={alert} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Clearing({ alert: { cleared_at: at, cleared_by: by } }: { readonly alert: RaisedAlert }) {
  if (at === null) {
    return (
      <Badge tone="wait" icon="clock">
        Still waiting
      </Badge>
    );
  }
  return (
    <>
      <Time iso={at} />
      {by !== null && `, ${CLEARED[by]}`}
    </>
  );
}
