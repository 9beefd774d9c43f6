import { Card } from './card.js';
import { FailureNotice } from './notice.js';
import { SkeletonRows } from './skeleton.js';

interface LoadingCardProps {
  readonly error: Error | null;
  readonly onRetry: () => void;
}

/** A card whose rows are loading, or could not be loaded. */
export function LoadingCard({ error, onRetry }: LoadingCardProps) {
  return (
    <Card flush>
      {error === null ? (
        <SkeletonRows rows={3} rowHeight="3.25rem" />
      ) : (
        <div className="card-body">
          <FailureNotice error={error} onRetry={onRetry} />
        </div>
      )}
    </Card>
  );
}
