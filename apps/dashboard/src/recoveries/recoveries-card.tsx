import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { recoveriesQuery } from '../api/queries.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { LoadingRows } from '../ui/loading-card.js';
import { RecoveryTable } from './recovery-table.js';

const SHOWN = 3;

/** The latest recoveries of an endpoint; nothing for an endpoint without any. */
export function RecoveriesCard({ endpointId }: { readonly endpointId: string }) {
  const { data: recoveries, error, refetch } = useQuery(recoveriesQuery(endpointId));
  const [showsAll, setShowsAll] = useState(false);
  if (recoveries === undefined) {
    return (
      <Card title="Recoveries" flush>
        <LoadingRows error={error} onRetry={() => void refetch()} rows={1} />
      </Card>
    );
  }
  if (recoveries.length === 0) return null;
  return (
    <Card
      title="Recoveries"
      flush
      actions={
        recoveries.length > SHOWN &&
        !showsAll && <Button onClick={() => setShowsAll(true)}>Show all {recoveries.length}</Button>
      }
    >
      <RecoveryTable recoveries={showsAll ? recoveries : recoveries.slice(0, SHOWN)} />
    </Card>
  );
}
