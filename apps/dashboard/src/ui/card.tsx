import { useId, type ReactNode } from 'react';
import './card.css';

interface CardProps {
  readonly title?: ReactNode;
  /** Controls beside the title, such as filters. */
  readonly actions?: ReactNode;
  readonly note?: ReactNode;
  /** Whether the content reaches the border, as tables do. */
  readonly flush?: boolean;
  readonly children: ReactNode;
}

export function Card({ title, actions, note, flush = false, children }: CardProps) {
  const titleId = useId();
  return (
    <section className="card" aria-labelledby={title === undefined ? undefined : titleId}>
      {title !== undefined && (
        <header className="card-header">
          <div>
            <h2 id={titleId}>{title}</h2>
            {note !== undefined && <p className="card-note">{note}</p>}
          </div>
          {actions !== undefined && <div className="row">{actions}</div>}
        </header>
      )}
      <div className={flush ? 'card-flush' : 'card-body'}>{children}</div>
    </section>
  );
}
