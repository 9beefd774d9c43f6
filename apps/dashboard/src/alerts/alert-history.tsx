import { useQuery } from '@tanstack/react-query';
import { alertsQuery } from '../api/queries.js';
import { Card } from '../ui/card.js';
import { LoadingRows } from '../ui/loading-card.js';
import { EmptyState } from '../ui/notice.js';
import { cursorOf, type PageSearch } from '../ui/page-search.js';
import { Pager } from '../ui/pager.js';
import { AlertTable } from './alert-table.js';

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
          <AlertTable alerts={alerts} />
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
