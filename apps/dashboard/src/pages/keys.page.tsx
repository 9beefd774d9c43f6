import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { apiKeysQuery } from '../api/queries.js';
import type { ApiKey, ApiKeyWithSecret } from '../api/resources.js';
import { SecretDialog } from '../endpoints/secret-dialog.js';
import { keyState, type KeyState } from '../keys/key-state.js';
import { NewKeyDialog } from '../keys/new-key-dialog.js';
import { RevokeKeyDialog } from '../keys/revoke-key-dialog.js';
import { useSession } from '../session/use-session.js';
import { localDay } from '../time/time-text.js';
import { useNow } from '../time/use-now.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { LoadingRows } from '../ui/loading-card.js';
import { Name } from '../ui/name.js';
import { PageHeader } from '../ui/page-header.js';
import { Badge, type Tone } from '../ui/status-badge.js';
import { Ago } from '../ui/time.js';
import './keys.css';

type Asking =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'create' }
  | { readonly kind: 'created'; readonly key: ApiKeyWithSecret }
  | { readonly kind: 'revoke'; readonly key: ApiKey };

const NOTHING: Asking = { kind: 'nothing' };

export function KeysPage() {
  const [asking, setAsking] = useState<Asking>(NOTHING);
  const close = () => {
    setAsking(NOTHING);
  };
  return (
    <>
      <PageHeader
        title="API keys"
        note="For the feed, for submitting events, and for this dashboard."
        actions={
          <Button look="solid" icon="plus" onClick={() => setAsking({ kind: 'create' })}>
            New API key
          </Button>
        }
      />
      <KeysCard onRevoke={(key) => setAsking({ kind: 'revoke', key })} />
      <AskingDialog asking={asking} close={close} onCreated={(key) => setAsking({ kind: 'created', key })} />
    </>
  );
}

interface AskingDialogProps {
  readonly asking: Asking;
  readonly close: () => void;
  readonly onCreated: (key: ApiKeyWithSecret) => void;
}

function AskingDialog({ asking, close, onCreated }: AskingDialogProps) {
  const { key_id: own } = useSession();
  switch (asking.kind) {
    case 'nothing':
      return null;
    case 'create':
      return <NewKeyDialog onClose={close} onCreated={onCreated} />;
    case 'created':
      return (
        <SecretDialog
          title="API key created"
          what="API key"
          secret={asking.key.key}
          hint={`Sent in the header X-Api-Key, it allows what its scopes say. ${expiryText(asking.key)}`}
          onClose={close}
        />
      );
    case 'revoke':
      return <RevokeKeyDialog apiKey={asking.key} isOwn={asking.key.id === own} onClose={close} />;
  }
}

/** When the key ends. That may be sooner than was chosen: with the key that created it. */
function expiryText({ expires_at: at }: ApiKey): string {
  return at === null ? 'It does not expire.' : `It expires on ${localDay(at)}.`;
}

function KeysCard({ onRevoke }: { readonly onRevoke: (key: ApiKey) => void }) {
  const { data: keys, error, refetch } = useQuery(apiKeysQuery());
  const { key_id: own } = useSession();
  const now = useNow(30_000);
  return (
    <Card flush>
      {keys === undefined ? (
        <LoadingRows error={error} onRetry={() => void refetch()} rows={4} rowHeight="3.75rem" />
      ) : (
        <table className="table keys-table">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col" className="wide-only">
                Scopes
              </th>
              <th scope="col" className="wide-only">
                Last used
              </th>
              <th scope="col">State</th>
              <th scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {keys.map((key) => (
              <KeyRow key={key.id} apiKey={key} isOwn={key.id === own} state={keyState(key, now)} onRevoke={onRevoke} />
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

const TONES: Readonly<Record<KeyState, Tone>> = { active: 'good', expired: 'off', revoked: 'off' };
const WORDS: Readonly<Record<KeyState, string>> = { active: 'Active', expired: 'Expired', revoked: 'Revoked' };

interface KeyRowProps {
  readonly apiKey: ApiKey;
  readonly isOwn: boolean;
  readonly state: KeyState;
  readonly onRevoke: (key: ApiKey) => void;
}

function KeyRow({ apiKey, isOwn, state, onRevoke }: KeyRowProps) {
  return (
    <tr>
      <td>
        {apiKey.name !== null && (
          <strong className="key-name">
            <Name wraps>{apiKey.name}</Name>
          </strong>
        )}
        <code className="key-id">{apiKey.id}</code>
        <span className="key-note">
          {isOwn && <Badge tone="accent">this session</Badge>}
          <span className="muted">created {localDay(apiKey.created_at)}</span>
        </span>
      </td>
      <td className="wide-only">
        <span className="scopes">
          {apiKey.scopes.map((scope) => (
            <code key={scope} className="scope">
              {scope}
            </code>
          ))}
        </span>
      </td>
      <td className="wide-only muted">{apiKey.last_used_at === null ? 'never' : <Ago iso={apiKey.last_used_at} />}</td>
      <td>
        <Badge tone={TONES[state]}>{WORDS[state]}</Badge>
        {state === 'active' && (
          <span className="key-note muted">
            {apiKey.expires_at === null ? 'does not expire' : `until ${localDay(apiKey.expires_at)}`}
          </span>
        )}
      </td>
      <td className="end">
        {state === 'active' && (
          <Button
            look="ghost"
            aria-label={`Revoke ${apiKey.name ?? apiKey.id}`}
            onClick={() => {
              onRevoke(apiKey);
            }}
          >
            Revoke
          </Button>
        )}
      </td>
    </tr>
  );
}
