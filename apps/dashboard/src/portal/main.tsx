import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenSessionEnds } from '../api/client.js';
import { LoadingPage } from '../shell/loading-page.js';
import { FailureNotice } from '../ui/notice.js';
import { Toasts } from '../ui/toasts.js';
import { newQueryClient } from '../api/query-client.js';
import { showBranding } from './branding.js';
import { beginPortalSession, closePortalSession, endPortalSession } from './portal-session.js';
import { takeLinkToken } from './portal-token.js';
import { portalRouter } from './router.js';
import '../styles/fonts.css';
import '../styles/tokens.css';
import '../styles/base.css';
import '../styles/layout.css';
import '../ui/table.css';
import './portal.css';

const queries = newQueryClient();

const place = document.getElementById('root');
if (place === null) throw new Error('portal.html has no #root');
const screen = createRoot(place);

await show(takeLinkToken());

/** Shows the pages of the session that the link opens, or the reason why there is none. */
async function show(link: string | null): Promise<void> {
  screen.render(
    <main className="portal-ended">
      <LoadingPage />
    </main>,
  );
  try {
    const session = await beginPortalSession(queries, link);
    if (session !== null) showBranding(session.branding);
  } catch (error) {
    screen.render(
      <main className="portal-ended">
        <FailureNotice error={error} onRetry={() => void show(link)} />
      </main>,
    );
    return;
  }
  const router = portalRouter(queries);
  whenSessionEnds(() => {
    if (!closePortalSession()) return;
    const leaving = router.navigate({ to: '/ended' as '/', replace: true });
    // A page with a secret that is not stored asks first. While its user stays, it needs what it shows.
    void leaving.then(() => {
      endPortalSession(queries);
    });
  });
  screen.render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queries}>
          <Toasts>
            <RouterProvider router={router as never} />
          </Toasts>
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
}
