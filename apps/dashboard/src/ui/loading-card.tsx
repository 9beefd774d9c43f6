import { Card } from './card.js';
import { FailureNotice } from './notice.js';
import { SkeletonRows, SkeletonTable } from './skeleton.js';

interface LoadingRowsProps {
  /** Why the rows could not be loaded; `null` while they are loading. */
  readonly error: Error | null;
  readonly onRetry: () => void;
  /** How many rows to draw. */
  readonly rows: number;
  readonly rowHeight?: string;
  /** Whether the rows come in a table with a head. */
  readonly hasHead?: boolean;
}

/** The rows of a card, or of a part of it, that are loading or could not be loaded. */
export function LoadingRows({ error, onRetry, rows, rowHeight, hasHead = true }: LoadingRowsProps) {
  if (error !== null) {
    return (
      <div className="card-body">
        <FailureNotice error={error} onRetry={onRetry} />
      </div>
    );
  }
  const Rows = hasHead ? SkeletonTable : SkeletonRows;
  return <Rows rows={rows} {...(rowHeight === undefined ? {} : { rowHeight })} />;
}

/** A card of such rows. */
export function LoadingCard(props: LoadingRowsProps) {
  return (
    <Card flush>
      <LoadingRows {...props} />
    </Card>
  );
}
