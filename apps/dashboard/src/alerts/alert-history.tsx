import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { alertsQuery } from '../api/queries.js';
import type { RaisedAlert } from '../api/resources.js';
import { Card } from '../ui/card.js';
import { LoadingRows } from '../ui/loading-card.js';
import { EmptyState } from '../ui/notice.js';
import { cursorOf, type PageSearch } from '../ui/page-search.js';
import { Pager } from '../ui/pager.js';
import { Badge } from '../ui/status-badge.js';
import { Time } from '../ui/time.js';
import { StageBadge } from './stage-badge.js';
import { isWebUrl } from './web-url.js';

const CLEARED: Readonly<Record<NonNullable<RaisedAlert['cleared_by']>, string>> = {
  picked_up: 'picked up',
  abandoned: 'visitor left',
  completed: 'completed',
  handed_off: 'queued again',
};

interface AlertHistoryProps {
  readonly orgId: string;
  readonly search: PageSearch;
  readonly onPage: (after: string | undefined) => void;
}

/** The alerts that were raised, newest first, and how each was cleared. */
export function AlertHistory({ orgId, search, onPage }: AlertHistoryProps) {
  const { data: page, error, refetch, isPlaceholderData } = useQuery(alertsQuery(orgId, cursorOf(search)));
  const alerts = page?.data;
  return (
    <Card title="Recent alerts" flush>
      {page === undefined || alerts === undefined ? (
        <LoadingRows error={error} onRetry={() => void refetch()} rows={5} />
      ) : alerts.length === 0 && search.after === undefined ? (
        <EmptyState icon="bell" title="No alerts yet">
          One is raised when a chat waits longer than a threshold.
        </EmptyState>
      ) : (
        <>
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
                    <AlertLink alert={alert} />
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
          <Pager
            label="Pages of alerts"
            search={search}
            next={page.next_cursor}
            isLoading={isPlaceholderData}
            onPage={onPage}
          />
        </>
      )}
    </Card>
  );
}

/** The chat in the agents' dashboard. */
function AlertLink({ alert: { url, subject } }: { readonly alert: RaisedAlert }) {
  if (!isWebUrl(url)) return subject;
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {subject}
    </a>
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
