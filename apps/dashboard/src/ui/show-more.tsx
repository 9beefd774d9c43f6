import { useState, type ReactNode } from 'react';
import { wholeNumber } from '../charts/scale.js';
import { Button } from './button.js';

const STEP = 100;

interface ShowMoreProps<T> {
  readonly items: readonly T[];
  readonly children: (shown: readonly T[]) => ReactNode;
}

/** Shows the first items of a list, and more on request. Thousands would be slow to draw. */
export function ShowMore<T>({ items, children }: ShowMoreProps<T>) {
  const [most, setMost] = useState(STEP);
  return (
    <>
      {children(items.slice(0, most))}
      {items.length > most && (
        <div className="table-foot">
          <span>
            {wholeNumber(most)} of {wholeNumber(items.length)} shown
          </span>
          <Button
            icon="down"
            onClick={() => {
              setMost(most + STEP);
            }}
          >
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
