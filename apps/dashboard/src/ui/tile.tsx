import type { ReactNode } from 'react';
import { Skeleton } from './skeleton.js';
import './tile.css';

interface TileProps {
  readonly label: string;
  /** `undefined` while it is loading. */
  readonly value: ReactNode | undefined;
  readonly unit?: string;
  readonly note?: ReactNode;
  readonly children?: ReactNode;
}

/** A single large figure. */
export function Tile({ label, value, unit, note, children }: TileProps) {
  return (
    <div className="tile">
      <dt className="tile-label">{label}</dt>
      <dd className="tile-value numeric">
        {value === undefined ? <Skeleton width="4rem" /> : value}
        {value !== undefined && unit !== undefined && <span className="tile-unit">{unit}</span>}
      </dd>
      <dd className="tile-note">{value === undefined ? <Skeleton width="7rem" /> : (note ?? '\u00a0')}</dd>
      {children !== undefined && <dd className="tile-chart">{children}</dd>}
    </div>
  );
}

export function Tiles({ children }: { readonly children: ReactNode }) {
  return <dl className="tiles">{children}</dl>;
}
