import { EmptyState } from '../ui/notice.js';
import './portal.css';

/** Shown without a session. Only the product's own page can make another link. */
export function EndedPage() {
  return (
    <main className="portal-ended">
      <EmptyState icon="clock" title="This session has ended">
        Its link was used already or has expired. Load the page that brought you here again.
      </EmptyState>
    </main>
  );
}
