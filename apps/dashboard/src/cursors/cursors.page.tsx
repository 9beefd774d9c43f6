import { useQuery } from '@tanstack/react-query';
import { Card } from '../ui/card.js';
import { LoadingCard } from '../ui/loading-card.js';
import { Notice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { Ago } from '../ui/time.js';
import { behindText } from './behind-text.js';
import { cursorsQuery } from './cursors-query.js';

export function CursorsPage() {
  return (
    <>
      <PageHeader
        title="Feed readers"
        note="The named cursors of this organization: who reads the feed, and how far."
      />
      <CursorsCard />
    </>
  );
}

function CursorsCard() {
  const { data: cursors, error, refetch } = useQuery(cursorsQuery());
  if (cursors === undefined) {
    return <LoadingCard error={error} onRetry={() => void refetch()} rows={3} rowHeight="3.25rem" hasHead={false} />;
  }
  if (cursors.length === 0) {
    return (
      <Notice tone="off" icon="events" title="No reader stores its position here">
        A reader creates its cursor with <code>PUT /external/cursors/:name</code>. Readers with a store of their own are
        not listed.
      </Notice>
    );
  }
  return (
    <Card flush>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Reader</th>
            <th scope="col">Position</th>
            <th scope="col">Behind</th>
            <th scope="col" className="wide-only">
              Moved
            </th>
          </tr>
        </thead>
        <tbody>
          {cursors.map((cursor) => (
            <tr key={cursor.name}>
              <td>
                <code>{cursor.name}</code>
              </td>
              <td>#{cursor.seq}</td>
              <td>{behindText(cursor)}</td>
              <td className="wide-only muted">
                <Ago iso={cursor.moved_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
