import type { ReactNode } from 'react';
import type { Scope } from '../api/resources.js';
import { useScope } from '../session/use-session.js';
import { Notice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';

interface NeedsScopeProps {
  readonly scope: Scope;
  /** The title of the page. */
  readonly title: string;
  readonly children: ReactNode;
}

/** Shows a page, or which scope the key of the session lacks for it. Nothing is asked that would be refused. */
export function NeedsScope({ scope, title, children }: NeedsScopeProps) {
  if (useScope(scope)) return children;
  return (
    <>
      <PageHeader title={title} />
      <Notice tone="off" icon="key" title="Your key does not show this page">
        That takes the scope <code>{scope}</code>. Sign in with another key.
      </Notice>
    </>
  );
}
