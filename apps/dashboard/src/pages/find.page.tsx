import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Navigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApiProblem } from '../api/api-problem.js';
import { eventQuery, foundDeliveryQuery, foundRecoveryQuery } from '../api/queries.js';
import { EndpointLink } from '../find/endpoint-link.js';
import { FoundText } from '../find/found-text.js';
import { foundName } from '../find/found-name.js';
import { RecoveryTable } from '../recoveries/recovery-table.js';
import { useLack } from '../session/use-session.js';
import { SearchBox } from '../shell/search-box.js';
import { ButtonLink } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { isolated } from '../ui/name.js';
import { EmptyState, FailureNotice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { SkeletonBlock } from '../ui/skeleton.js';

const route = getRouteApi('/inside/find');

/** Leads to what an id or a seq names. */
export function FindPage() {
  const { q = '' } = route.useSearch();
  const name = foundName(q);
  switch (name.kind) {
    case 'seq':
      return <ToEvent seq={name.seq} />;
    case 'number':
      return <FindNumber {...name} />;
    case 'endpoint':
      return <Navigate to="/endpoints/$endpointId" params={{ endpointId: name.id }} replace />;
    case 'event':
      return <FindEvent id={name.id} />;
    case 'delivery':
      return <FindDelivery id={name.id} />;
    case 'recovery':
      return <FindRecovery id={name.id} />;
    case 'text':
      return (
        <>
          <Title />
          <FoundText
            text={name.text}
            nothing={
              <Card>
                <NothingFound title={`Nothing found for “${isolated(name.text)}”`} />
              </Card>
            }
          />
        </>
      );
    case 'nothing':
      return (
        <Frame>
          <NothingFound title="What do you look for?" />
        </Frame>
      );
  }
}

function FindEvent({ id }: { readonly id: string }) {
  const { data: found, error, refetch } = useQuery({ ...eventQuery(id), refetchInterval: false });
  if (found === undefined) return <Searching {...{ error, refetch }} missing={`There is no event ${id}`} />;
  return <ToEvent seq={found.envelope.seq} />;
}

function ToEvent({ seq }: { readonly seq: number }) {
  return <Navigate to="/events" search={{ seq, from: seq }} replace />;
}

/** A number may be the id of a chat, or be in the name or URL of an endpoint. Otherwise it leads to the event. */
function FindNumber({ seq, text }: { readonly seq: number; readonly text: string }) {
  const lack = useLack('events:read');
  return (
    <>
      <Title
        actions={
          <ButtonLink icon="events" to="/events" search={{ seq, from: seq }} reason={lack}>
            Event #{seq}
          </ButtonLink>
        }
      />
      <FoundText text={text} nothing={<ToEvent seq={seq} />} />
    </>
  );
}

function FindDelivery({ id }: { readonly id: string }) {
  const { data: found, error, refetch } = useQuery(foundDeliveryQuery(id));
  if (found === undefined) return <Searching {...{ error, refetch }} missing={`There is no delivery ${id}`} />;
  const params = { endpointId: found.endpoint_id, deliveryId: found.id };
  return <Navigate to="/endpoints/$endpointId/deliveries/$deliveryId" params={params} replace />;
}

function FindRecovery({ id }: { readonly id: string }) {
  const { data: found, error, refetch } = useQuery(foundRecoveryQuery(id));
  if (found === undefined) return <Searching {...{ error, refetch }} missing={`There is no recovery ${id}`} />;
  return (
    <>
      <Title />
      <Card title="Recovery" actions={<EndpointLink id={found.webhook_id} />} flush>
        <RecoveryTable recoveries={[found]} />
      </Card>
    </>
  );
}

function Searching({
  error,
  refetch,
  missing,
}: {
  readonly error: Error | null;
  readonly refetch: () => unknown;
  readonly missing: string;
}) {
  return (
    <Frame>
      {error === null ? (
        <SkeletonBlock height="12rem" />
      ) : error instanceof ApiProblem && error.status === 404 ? (
        <NothingFound title={missing} />
      ) : (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      )}
    </Frame>
  );
}

function Title({ actions }: { readonly actions?: ReactNode }) {
  return (
    <PageHeader
      title="Find"
      note="By an id, by the seq of an event, or by the name or URL of an endpoint."
      actions={actions}
    />
  );
}

function Frame({ children }: { readonly children: ReactNode }) {
  return (
    <>
      <Title />
      <Card>{children}</Card>
    </>
  );
}

function NothingFound({ title }: { readonly title: string }) {
  return (
    <EmptyState icon="search" title={title} action={<SearchBox label="Again" />}>
      Ids begin with <code>evt_</code>, <code>whd_</code>, <code>whe_</code> or <code>rec_</code>. The id of a chat
      finds its alerts. Events past retention are not found.
    </EmptyState>
  );
}
