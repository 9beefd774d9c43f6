import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { auditLogQuery } from '../api/queries.js';
import type { AuditEntry } from '../api/resources.js';
import { actionText, detailsText } from '../audit/action-text.js';
import { useKeyNames } from '../names/use-key-names.js';
import { useScope } from '../session/use-session.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { FailureNotice, Notice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { SkeletonRows } from '../ui/skeleton.js';
import { Ago } from '../ui/time.js';
import './audit-log.css';

export function AuditLogPage() {
  const mayRead = useScope('keys:write');
  return (
    <>
      <PageHeader title="Audit log" note="Who changed what in this organization." />
      {mayRead ? (
        <AuditCard />
      ) : (
        <Notice tone="off" icon="shield" title="Your key does not read the audit log">
          That takes the scope <code>keys:write</code>.
        </Notice>
      )}
    </>
  );
}

function AuditCard() {
  // The cursors of the earlier pages, for going back.
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const { data: page, error, refetch, isPlaceholderData } = useQuery(auditLogQuery(cursors.at(-1)));
  if (page === undefined) {
    return (
      <Card flush>
        {error === null ? (
          <SkeletonRows rows={6} rowHeight="3.25rem" />
        ) : (
          <div className="card-body">
            <FailureNotice error={error} onRetry={() => void refetch()} />
          </div>
        )}
      </Card>
    );
  }
  const next = page.next_cursor;
  return (
    <Card flush>
      <table className="table audit-table">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col" className="wide-only">
              By
            </th>
          </tr>
        </thead>
        <tbody>
          {page.data.map((entry) => (
            <AuditRow key={entry.id} entry={entry} />
          ))}
        </tbody>
      </table>
      {(next !== null || cursors.length > 0) && (
        <nav className="table-foot" aria-label="Pages of the audit log">
          <span>Page {cursors.length + 1}</span>
          <span className="row">
            <Button icon="left" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
              Newer
            </Button>
            <Button
              disabled={next === null || isPlaceholderData}
              onClick={() => {
                if (next !== null) setCursors([...cursors, next]);
              }}
            >
              Older
            </Button>
          </span>
        </nav>
      )}
    </Card>
  );
}

/** How a change was made, where that is not by a key. */
const WAYS: Readonly<Record<AuditEntry['actor'], string | null>> = {
  api_key: null,
  dashboard: 'by the dashboard',
  portal: 'by the portal',
  operator: null,
};

function Actor({ entry, keyName }: { readonly entry: AuditEntry; readonly keyName: string | undefined }) {
  if (entry.user_label !== null) return entry.user_label;
  if (entry.key_id === null) return 'operator';
  return keyName === undefined ? <code>{entry.key_id}</code> : <span title={entry.key_id}>{keyName}</span>;
}

function AuditRow({ entry }: { readonly entry: AuditEntry }) {
  const details = detailsText(entry.details);
  const names = useKeyNames();
  return (
    <tr>
      <td className="muted">
        <Ago iso={entry.at} />
      </td>
      <td>
        {actionText(entry.action)}
        {names.has(entry.target) ? (
          <span className="audit-note" title={entry.target}>
            {names.get(entry.target)}
          </span>
        ) : (
          <code className="audit-note">{entry.target}</code>
        )}
        {details !== '' && <span className="audit-note muted">{details}</span>}
      </td>
      <td className="wide-only">
        <Actor entry={entry} keyName={entry.key_id === null ? undefined : names.get(entry.key_id)} />
        <span className="audit-note muted">
          {[WAYS[entry.actor], entry.address].filter((text) => text !== null).join(', ')}
        </span>
      </td>
    </tr>
  );
}
