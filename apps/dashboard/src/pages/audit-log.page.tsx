import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Fragment } from 'react';
import { auditLogQuery } from '../api/queries.js';
import type { AuditEntry } from '../api/resources.js';
import { actionText, detailTexts } from '../audit/action-text.js';
import { IdLink } from '../find/id-link.js';
import { useKeyNames } from '../names/use-key-names.js';
import { Card } from '../ui/card.js';
import { LoadingCard } from '../ui/loading-card.js';
import { Name } from '../ui/name.js';
import { PageHeader } from '../ui/page-header.js';
import { cursorOf } from '../ui/page-search.js';
import { Pager } from '../ui/pager.js';
import { Ago } from '../ui/time.js';
import './audit-log.css';

const route = getRouteApi('/inside/audit-log');

export function AuditLogPage() {
  return (
    <>
      <PageHeader title="Audit log" note="Who changed what in this organization." />
      <AuditCard />
    </>
  );
}

function AuditCard() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: page, error, refetch, isPlaceholderData } = useQuery(auditLogQuery(cursorOf(search)));
  if (page === undefined) {
    return <LoadingCard error={error} onRetry={() => void refetch()} rows={8} rowHeight="3.75rem" />;
  }
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
      <Pager
        label="Pages of the audit log"
        search={search}
        next={page.next_cursor}
        isLoading={isPlaceholderData}
        onPage={(after) => void navigate({ search: after === undefined ? {} : { after } })}
      />
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
  if (entry.user_label !== null) return <Name wraps>{entry.user_label}</Name>;
  if (entry.key_id === null) return 'operator';
  return keyName === undefined ? (
    <code>{entry.key_id}</code>
  ) : (
    <span title={entry.key_id}>
      <Name wraps>{keyName}</Name>
    </span>
  );
}

interface ByProps {
  readonly entry: AuditEntry;
  /** The names of keys by id. */
  readonly names: ReadonlyMap<string, string>;
}

/** Who made a change, and how. */
function By({ entry, names }: ByProps) {
  return (
    <>
      <Actor entry={entry} keyName={entry.key_id === null ? undefined : names.get(entry.key_id)} />
      <span className="audit-note muted">
        {[WAYS[entry.actor], entry.address].filter((text) => text !== null).join(', ')}
      </span>
    </>
  );
}

function AuditRow({ entry }: { readonly entry: AuditEntry }) {
  const details = detailTexts(entry.details);
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
            <Name wraps>{names.get(entry.target) ?? ''}</Name>
          </span>
        ) : (
          <code className="audit-note">
            <IdLink id={entry.target} />
          </code>
        )}
        {details.length > 0 && (
          <span className="audit-note muted">
            {details.map(([name, text], index) => (
              <Fragment key={name}>
                {index > 0 && ' · '}
                {name}: <IdLink id={text} />
              </Fragment>
            ))}
          </span>
        )}
        <span className="cell-note narrow-only">
          <By entry={entry} names={names} />
        </span>
      </td>
      <td className="wide-only">
        <By entry={entry} names={names} />
      </td>
    </tr>
  );
}
