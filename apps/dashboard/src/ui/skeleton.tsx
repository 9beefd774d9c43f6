import './skeleton.css';

/** A placeholder in the size of the text that will be here, so that nothing moves when it comes. */
export function Skeleton({ width = '100%' }: { readonly width?: string }) {
  return (
    <span className="skeleton" style={{ width }} aria-hidden="true">
      {'\u00a0'}
    </span>
  );
}

/** A placeholder for a list of rows. */
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

/** A placeholder for a table with its head. */
export function SkeletonTable({ rows, rowHeight }: { readonly rows: number; readonly rowHeight?: string }) {
  return (
    <>
      <div className="skeleton-head" aria-hidden="true" />
      <SkeletonRows rows={rows} {...(rowHeight === undefined ? {} : { rowHeight })} />
    </>
  );
}

/** A placeholder for the tiles of figures. */
export function SkeletonTiles() {
  return (
    <div className="tiles" role="status" aria-label="Loading">
      {Array.from({ length: 4 }, (_, tile) => (
        <div key={tile} className="skeleton skeleton-block skeleton-tile" />
      ))}
    </div>
  );
}

/** A placeholder for a chart, a form or another block. */
export function SkeletonBlock({ height }: { readonly height: string }) {
  return <div className="skeleton skeleton-block" style={{ height }} role="status" aria-label="Loading" />;
}
