import { Button } from './button.js';
import { newerPage, olderPage, pageNumberOf, type PageSearch } from './page-search.js';

interface PagerProps {
  /** What the pages list: `Pages of deliveries`. */
  readonly label: string;
  readonly search: PageSearch;
  /** The cursor of the following page; `null` on the last one. */
  readonly next: string | null;
  /** Whether the shown page is still that of another cursor. */
  readonly isLoading: boolean;
  readonly onPage: (after: string | undefined) => void;
}

/** Turns the pages of a list that is sorted by time. */
export function Pager({ label, search, next, isLoading, onPage }: PagerProps) {
  const page = pageNumberOf(search);
  if (next === null && page === 1) return null;
  return (
    <nav className="table-foot" aria-label={label}>
      <span>Page {page}</span>
      <span className="row">
        {page > 2 && (
          <Button
            onClick={() => {
              onPage(undefined);
            }}
          >
            Newest
          </Button>
        )}
        <Button
          icon="left"
          disabled={page === 1}
          onClick={() => {
            onPage(newerPage(search));
          }}
        >
          Newer
        </Button>
        <Button
          disabled={next === null || isLoading}
          onClick={() => {
            if (next !== null) onPage(olderPage(search, next));
          }}
        >
          Older
        </Button>
      </span>
    </nav>
  );
}
