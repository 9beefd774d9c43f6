import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { alertsQuery, liveChatSettingsQuery, waitingConversationsQuery } from '../api/queries.js';
import { AlertHistory } from '../alerts/alert-history.js';
import { SettingsForm } from '../alerts/settings-form.js';
import { WaitingList } from '../alerts/waiting-list.js';
import { useSession } from '../session/use-session.js';
import { Card } from '../ui/card.js';
import { FailureNotice, Notice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { cursorOf } from '../ui/page-search.js';
import { SkeletonBlock } from '../ui/skeleton.js';

const route = getRouteApi('/inside/alerts');

export function AlertsPage() {
  const { org_id: orgId, live_chat_alerts: isThere } = useSession();
  return (
    <>
      <PageHeader title="Live-chat alerts" note="“Nobody has answered this chat”: raised, escalated, and cleared." />
      {!isThere ? (
        <Notice tone="off" icon="bell" title="Live-chat alerts are not part of this installation" />
      ) : (
        <Alerts orgId={orgId} />
      )}
    </>
  );
}

function Alerts({ orgId }: { readonly orgId: string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const parts = [
    useQuery(waitingConversationsQuery(orgId)),
    useQuery(liveChatSettingsQuery(orgId)),
    useQuery(alertsQuery(orgId, cursorOf(search))),
  ];
  // All at once, so that nothing moves when the next part comes.
  if (parts.some(({ isPending }) => isPending)) return <AlertsSkeleton />;
  return (
    <>
      <div className="columns-main">
        <WaitingList orgId={orgId} />
        <SettingsCard orgId={orgId} />
      </div>
      <AlertHistory
        orgId={orgId}
        search={search}
        onPage={(after) => void navigate({ search: after === undefined ? {} : { after }, resetScroll: false })}
      />
    </>
  );
}

/** In the places of what comes. */
function AlertsSkeleton() {
  return (
    <>
      <div className="columns-main">
        <SkeletonBlock height="17rem" />
        <SkeletonBlock height="28rem" />
      </div>
      <SkeletonBlock height="16rem" />
    </>
  );
}

function SettingsCard({ orgId }: { readonly orgId: string }) {
  const { data: settings, error, refetch } = useQuery(liveChatSettingsQuery(orgId));
  return (
    <Card title="Thresholds">
      {settings === undefined ? (
        error === null ? (
          <SkeletonBlock height="17rem" />
        ) : (
          <FailureNotice error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <SettingsForm orgId={orgId} settings={settings} />
      )}
    </Card>
  );
}
