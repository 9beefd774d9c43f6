import { fullTime, localTime, relativeTime } from '../time/time-text.js';
import { useNow } from '../time/use-now.js';
import { useToday } from '../time/use-today.js';

/** A moment in local time, with its zone and its ISO form as a tooltip. */
export function Time({ iso }: { readonly iso: string }) {
  const today = useToday();
  return (
    <time dateTime={iso} title={fullTime(iso)} className="nowrap numeric">
      {localTime(iso, today)}
    </time>
  );
}

/** How long ago a moment was, or how far ahead it is. */
export function Ago({ iso }: { readonly iso: string }) {
  const now = useNow(1_000);
  return (
    <time dateTime={iso} title={fullTime(iso)} className="nowrap numeric">
      {relativeTime(iso, now)}
    </time>
  );
}
