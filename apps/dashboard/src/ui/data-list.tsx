import type { ReactNode } from 'react';
import './data-list.css';

/** Names and their values, in two columns. */
export function DataList({ children }: { readonly children: ReactNode }) {
  return <dl className="data-list">{children}</dl>;
}

export function Datum({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="datum">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
