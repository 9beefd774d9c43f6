import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { McpSubscription } from '../api/resources.js';
import { behindText } from '../cursors/behind-text.js';
import { useLack } from '../session/use-session.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { LoadingCard } from '../ui/loading-card.js';
import { Notice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { Badge } from '../ui/status-badge.js';
import { Ago } from '../ui/time.js';
import { EndSubscriptionDialog } from './end-subscription-dialog.js';
import { subscriptionsQuery } from './subscriptions-query.js';

export function AgentsPage() {
  return (
    <>
      <PageHeader title="Agents" note="Webhooks that agents have subscribed by MCP, and how far they are." />
      <SubscriptionsCard />
    </>
  );
}

function SubscriptionsCard() {
  const { data: subscriptions, error, refetch } = useQuery(subscriptionsQuery());
  const [ending, setEnding] = useState<McpSubscription | null>(null);
  if (subscriptions === undefined) {
    return <LoadingCard error={error} onRetry={() => void refetch()} rows={3} rowHeight="3.25rem" hasHead={false} />;
  }
  if (subscriptions.length === 0) {
    return (
      <Notice tone="off" icon="send" title="No agent has subscribed">
        Agents subscribe with <code>events/subscribe</code> at <code>POST /mcp</code>. Agents that poll or stream are
        not listed.
      </Notice>
    );
  }
  return (
    <Card flush>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Subscription</th>
            <th scope="col">State</th>
            <th scope="col">Position</th>
            <th scope="col" className="wide-only">
              Last delivery
            </th>
            <th scope="col" className="wide-only">
              Expires
            </th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {subscriptions.map((subscription) => (
            <SubscriptionRow key={subscription.id} subscription={subscription} onEnd={setEnding} />
          ))}
        </tbody>
      </table>
      {ending !== null && (
        <EndSubscriptionDialog
          subscription={ending}
          onClose={() => {
            setEnding(null);
          }}
        />
      )}
    </Card>
  );
}

interface SubscriptionRowProps {
  readonly subscription: McpSubscription;
  readonly onEnd: (subscription: McpSubscription) => void;
}

function SubscriptionRow({ subscription, onEnd }: SubscriptionRowProps) {
  const lack = useLack('webhooks:write');
  const { event, url, key_id: keyId, status, seq, behind } = subscription;
  return (
    <tr>
      <td>
        <code>{event}</code>
        <SelectionText selection={subscription.arguments} />
        <div className="muted">{new URL(url).host}</div>
        <div className="muted">{keyId}</div>
      </td>
      <td>
        <StateBadge status={status} />
        {subscription.last_error !== null && <div className="muted">{subscription.last_error}</div>}
      </td>
      <td>
        #{seq}
        <div className="muted">{behindText({ behind, lost: 0 })}</div>
      </td>
      <td className="wide-only muted">
        {subscription.last_delivered_at === null ? 'None yet' : <Ago iso={subscription.last_delivered_at} />}
      </td>
      <td className="wide-only muted">
        {subscription.expires_at === null ? 'Never' : <Ago iso={subscription.expires_at} />}
      </td>
      <td>
        <Button
          icon="trash"
          reason={lack ?? (status === 'ended' ? 'It has ended.' : undefined)}
          onClick={() => {
            onEnd(subscription);
          }}
        >
          End
        </Button>
      </td>
    </tr>
  );
}

/** The arguments that select events, such as a filter. */
function SelectionText({ selection }: { readonly selection: McpSubscription['arguments'] }) {
  return Object.entries(selection).map(([name, value]) => (
    <div key={name} className="muted">
      {name} <code>{String(value)}</code>
    </div>
  ));
}

function StateBadge({ status }: Pick<McpSubscription, 'status'>) {
  switch (status) {
    case 'active':
      return (
        <Badge tone="good" icon="check">
          Active
        </Badge>
      );
    case 'suspended':
      return (
        <Badge tone="wait" icon="warning">
          Suspended
        </Badge>
      );
    case 'ended':
      return <Badge tone="off">Ended</Badge>;
  }
}
