import { useEffect, type ReactNode } from 'react';
import { Link, type LinkProps } from '@tanstack/react-router';
import { words } from '../session/wording.js';
import { Icon } from './icon.js';
import { Name } from './name.js';
import './page-header.css';

interface PageHeaderProps {
  /** Also the title of the browser's window. */
  readonly title: string;
  readonly badge?: ReactNode;
  readonly note?: ReactNode;
  readonly back?: { readonly link: LinkProps; readonly text: string };
  readonly actions?: ReactNode;
}

export function PageHeader({ title, badge, note, back, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · ${words().product}`;
  }, [title]);
  return (
    <header className="page-header">
      <div className="page-heading">
        {back !== undefined && (
          <Link {...back.link} className="page-back">
            <Icon name="left" size={14} /> <Name>{back.text}</Name>
          </Link>
        )}
        <div className="row">
          <h1>
            <Name wraps>{title}</Name>
          </h1>
          {badge}
        </div>
        {note !== undefined && <div className="page-note">{note}</div>}
      </div>
      {actions !== undefined && <div className="row">{actions}</div>}
    </header>
  );
}
