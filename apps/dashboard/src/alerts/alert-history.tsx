import { useQuery } from '@tanstack/react-query';
import { alertsQuery } from '../api/queries.js';
import type { RaisedAlert } from '../api/resources.js';
import { Card } from '../ui/card.js';
import { EmptyState, FailureNotice } from '../ui/notice.js';
import { SkeletonRows } from '../ui/skeleton.js';
import { Badge } from '../ui/status-badge.js';
import { Time } from '../ui/time.js';
import { StageBadge } from './stage-badge.js';

const CLEARED: Readonly<Record<NonNullable<RaisedAlert['cleared_by']>, string>> = {
  picked_up: 'picked up',
  abandoned: 'visitor left',
  completed: 'completed',
  handed_off: 'queued again',
};

/** The alerts that were raised, newest first, and how each was cleared. */
export function AlertHistory({ orgId }: { readonly orgId: string }) {
  const { data: alerts, error, refetch } = useQuery(alertsQuery(orgId));
  return (
    <Card title="Recent alerts" flush>
      {alerts === undefined ? (
        error === null ? (
          <SkeletonRows rows={5} />
        ) : (
          <div className="card-body">
            <FailureNotice error={error} onRetry={() => void refetch()} />
          </div>
        )
      ) : alerts.length === 0 ? (
        <EmptyState icon="bell" title="No alerts yet">
          One is raised when a chat waits longer than a threshold.
        </EmptyState>
      ) : (
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
                  <StageBadge stage={alert.stage} />
                </td>
                <td className="truncate">
                  {alert.subject}
                  {alert.visitor_name !== null && <span className="muted"> · {alert.visitor_name}</span>}
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
      )}
    </Card>
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
