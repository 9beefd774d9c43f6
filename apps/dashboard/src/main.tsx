import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenSessionEnds, whenTokenIsRefused } from './api/client.js';
import { newQueryClient } from './api/query-client.js';
import { dashboardRouter } from './router.js';
import { sessionHint } from './session/session-hint.js';
import { endSession, renewSession } from './session/session.js';
import { chosenTheme, showTheme } from './theme/theme.js';
import { Toasts } from './ui/toasts.js';
import './styles/fonts.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/layout.css';
import './ui/table.css';

const queries = newQueryClient();
const router = dashboardRouter(queries);

whenSessionEnds(() => {
  const next = router.state.location.href;
  endSession();
  const leaving = router.navigate({ to: '/sign-in', search: next === '/' ? { ended: true } : { ended: true, next } });
  // A page with a secret that is not stored asks first. While its user stays, it needs what it shows.
  void leaving.then(() => {
    if (router.state.location.pathname === '/sign-in') queries.clear();
  });
});
whenTokenIsRefused(() => renewSession(queries));
sessionHint.whenSetElsewhere(() => {
  // Without an answer, the next action renews it.
  renewSession(queries).catch(() => undefined);
});
showTheme(chosenTheme());

const place = document.getElementById('root');
if (place === null) throw new Error('index.html has no #root');
createRoot(place).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <Toasts>
          <RouterProvider router={router} />
        </Toasts>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
