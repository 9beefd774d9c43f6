import type { Cursor } from '../api/resources.js';

/** Returns how far the reader is behind, in words. */
export function behindText({ behind, lost }: Pick<Cursor, 'behind' | 'lost'>): string {
  if (behind === 0) return 'Caught up';
  const events = `${behind.toLocaleString('en')} ${behind === 1 ? 'event' : 'events'} behind`;
  return lost === 0 ? events : `${events}, ${lost.toLocaleString('en')} of them gone`;
}
