import { Outlet, useMatches } from '@tanstack/react-router';
import type { Scope } from '../api/resources.js';
import { SCOPE_MEANINGS } from '../keys/scope-meanings.js';
import { useSession } from '../session/use-session.js';
import { words } from '../session/wording.js';
import { PageHeader } from '../ui/page-header.js';

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The scope without which the page shows nothing. */
    readonly needs?: Scope;
  }
}

/** Shows the page of the address, or why the session does not allow it. Nothing is asked that would be refused. */
export function AllowedOutlet() {
  const { scopes } = useSession();
  const needs = useMatches({ select: (matches) => matches.at(-1)?.staticData.needs });
  return needs === undefined || scopes.includes(needs) ? <Outlet /> : <NotAllowed scope={needs} />;
}

function NotAllowed({ scope }: { readonly scope: Scope }) {
  const { access, howToGetMore } = words();
  return (
    <PageHeader
      title={`${access} does not allow this page`}
      note={
        <>
          It takes the scope <code>{scope}</code>: {withSmallInitial(SCOPE_MEANINGS[scope])}. {howToGetMore}
        </>
      }
    />
  );
}

function withSmallInitial(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
