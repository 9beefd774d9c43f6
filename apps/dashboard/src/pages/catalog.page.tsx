import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { eventTypesQuery } from '../api/queries.js';
import type { EventType } from '../api/resources.js';
import { familiesOf, isOrgWide } from '../endpoints/event-families.js';
import { JsonView } from '../events/json-view.js';
import { Card } from '../ui/card.js';
import { TextField } from '../ui/field.js';
import { EmptyState, FailureNotice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { SkeletonBlock } from '../ui/skeleton.js';
import { Badge } from '../ui/status-badge.js';
import { SendExample } from './send-example.js';
import './catalog.css';

export function CatalogPage() {
  const { data: types, error, refetch } = useQuery(eventTypesQuery());
  const [search, setSearch] = useState('');
  const families = familiesOf(types ?? [], search);
  return (
    <>
      <PageHeader title="Event catalog" note="Every type of event, with an example and the schema of its data." />
      <TextField
        label="Search event types"
        labelHidden
        type="search"
        placeholder="Search event types"
        value={search}
        onChange={(event) => {
          setSearch(event.target.value);
        }}
      />
      {types === undefined &&
        (error === null ? (
          <SkeletonBlock height="40rem" />
        ) : (
          <FailureNotice error={error} onRetry={() => void refetch()} />
        ))}
      {types !== undefined && families.length === 0 && (
        <Card>
          <EmptyState icon="search" title="No event type matches the search" />
        </Card>
      )}
      {families.map(({ family, title, types: ofFamily }) => (
        <Card key={family} title={title} flush>
          <ul>
            {ofFamily.map((type) => (
              <CatalogEntry key={type.event} type={type} />
            ))}
          </ul>
        </Card>
      ))}
    </>
  );
}

function CatalogEntry({ type }: { readonly type: EventType }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="catalog-entry">
      <details
        onToggle={({ currentTarget }) => {
          setOpen(currentTarget.open);
        }}
      >
        <summary>
          <span className="catalog-line">
            <code>{type.event}</code>
            {isOrgWide(type) && <Badge tone="off">org-wide</Badge>}
            {type.deprecated && <Badge tone="wait">never emitted</Badge>}
            {type.operational && <Badge tone="off">operations organization only</Badge>}
            <span className="muted">{type.description}</span>
          </span>
        </summary>
        {isOpen && (
          <div className="catalog-detail">
            <JsonView raw={JSON.stringify(type.example)} title={`Example of data: ${type.event}`} />
            <JsonView raw={JSON.stringify(type.schema)} title={`Schema of data: ${type.event}`} />
            <SendExample type={type} />
          </div>
        )}
      </details>
    </li>
  );
}
