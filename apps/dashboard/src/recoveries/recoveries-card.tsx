import { useState } from 'react';
import type { RecoveryProgress } from '../api/resources.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { RecoveryTable } from './recovery-table.js';

const SHOWN = 3;

/** The latest recoveries of an endpoint; nothing for an endpoint without any. */
export function RecoveriesCard({ recoveries }: { readonly recoveries: readonly RecoveryProgress[] }) {
  const [showsAll, setShowsAll] = useState(false);
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
