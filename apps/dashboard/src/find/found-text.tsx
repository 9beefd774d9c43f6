import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { activityQuery, endpointsQuery, foundConversationQuery } from '../api/queries.js';
import type { Endpoint } from '../api/resources.js';
import { AlertTable } from '../alerts/alert-table.js';
import { WaitingChats } from '../alerts/waiting-list.js';
import { endpointTitle } from '../endpoints/endpoint-title.js';
import { healthOf } from '../endpoints/health-of.js';
import { useSession } from '../session/use-session.js';
import { Card } from '../ui/card.js';
import { isolated, Name } from '../ui/name.js';
import { FailureNotice } from '../ui/notice.js';
import { ShowMore } from '../ui/show-more.js';
import { SkeletonBlock } from '../ui/skeleton.js';
import { HealthBadge } from '../ui/status-badge.js';
import { matchesText } from './matches-text.js';

const MAX_CHAT_ID = 255;

interface FoundTextProps {
  readonly text: string;
  /** Shown if nothing has this text. */
  readonly nothing: ReactNode;
}

/** The endpoints that have a text in their name or URL, and the chat that has it as its id. */
export function FoundText({ text, nothing }: FoundTextProps) {
  const { scopes, live_chat_alerts: hasAlerts } = useSession();
  const mayBeChat = hasAlerts && scopes.includes('settings:read') && text.length <= MAX_CHAT_ID;
  const endpoints = useQuery({ ...endpointsQuery(), enabled: scopes.includes('webhooks:read') });
  const chat = useQuery({ ...foundConversationQuery(text), enabled: mayBeChat });
  const failed = [endpoints, chat].find(({ error, data }) => error !== null && data === undefined);
  if (failed !== undefined) return <FailureNotice error={failed.error} onRetry={() => void failed.refetch()} />;
  if (endpoints.isLoading || chat.isLoading) return <SkeletonBlock height="12rem" />;
  const matching = (endpoints.data ?? []).filter((endpoint) => matchesText(endpoint, text));
  const { waiting = null, alerts = [] } = chat.data ?? {};
  if (matching.length === 0 && waiting === null && alerts.length === 0) return nothing;
  return (
    <>
      {waiting !== null && (
        <Card title={<ChatTitle id={text} state="is waiting" />} flush>
          <WaitingChats chats={[waiting]} />
        </Card>
      )}
      {alerts.length > 0 && (
        <Card title={<ChatTitle id={text} state="has raised alerts" />} flush>
          <AlertTable alerts={alerts} />
        </Card>
      )}
      {matching.length > 0 && (
        <Card title="Endpoints" note={`With “${isolated(text)}” in the name, the description or the URL`} flush>
          <ShowMore items={matching}>{(shown) => <EndpointMatches endpoints={shown} />}</ShowMore>
        </Card>
      )}
    </>
  );
}

function ChatTitle({ id, state }: { readonly id: string; readonly state: string }) {
  return (
    <>
      Chat <Name>{id}</Name> {state}
    </>
  );
}

function EndpointMatches({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const { data: activity } = useQuery(activityQuery(24));
  return (
    <table className="table">
      <thead className="visually-hidden">
        <tr>
          <th scope="col">Endpoint</th>
          <th scope="col">Health</th>
        </tr>
      </thead>
      <tbody>
        {endpoints.map((endpoint) => (
          <tr key={endpoint.id} data-link>
            <td className="endpoint-match">
              <Link to="/endpoints/$endpointId" params={{ endpointId: endpoint.id }} className="row-link truncate">
                <Name>{endpointTitle(endpoint)}</Name>
              </Link>
              <span className="cell-note mono truncate">{endpoint.url}</span>
            </td>
            <td className="end">
              <HealthBadge status={healthOf(endpoint, activity)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
