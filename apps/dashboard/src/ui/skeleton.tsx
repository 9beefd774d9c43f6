import './skeleton.css';

/** Stands where text will be, in its size, so that nothing moves when it comes. */
export function Skeleton({ width = '100%' }: { readonly width?: string }) {
  return (
    <span className="skeleton" style={{ width }} aria-hidden="true">
      {'\u00a0'}
    </span>
  );
}

/** Stands where a list of rows will be. */
export function SkeletonRows({ rows, rowHeight = '2.75rem' }: { readonly rows: number; readonly rowHeight?: string }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="skeleton-row" style={{ height: rowHeight }}>
          <Skeleton width="4.5rem" />
          <Skeleton width={`${60 - (row % 3) * 12}%`} />
        </div>
      ))}
    </div>
  );
}

/** Stands where a chart, a form or another block will be. */
export function SkeletonBlock({ height }: { readonly height: string }) {
  return <div className="skeleton skeleton-block" style={{ height }} role="status" aria-label="Loading" />;
}
