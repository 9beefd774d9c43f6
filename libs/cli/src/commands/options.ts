import { InvalidArgumentError, Option } from 'commander';
import { EVENT_TYPES, type EventType } from '../../../event-types/src/index.js';

export function urlOption(): Option {
  return new Option('--url <url>', 'the URL of Gapless (default: GAPLESS_URL, or that of `gapless login`)');
}

/** Types that the feed may hold. */
const TYPES: readonly string[] = [...EVENT_TYPES, 'test'];

/** @throws InvalidArgumentError with similar types, since these names are easily misspelled */
export function eventType(text: string): EventType {
  if (TYPES.includes(text)) return text as EventType;
  const family = text.split('.', 1)[0] ?? '';
  const similar = TYPES.filter((type) => type.startsWith(`${family}.`));
  const hint = similar.length > 0 ? `Did you mean ${similar.join(', ')}?` : 'The docs list all types.';
  throw new InvalidArgumentError(`There is no event type ${text}. ${hint}`);
}

/** @throws InvalidArgumentError if there is none, too: a listener would pass over every event */
export function eventTypes(text: string): readonly EventType[] {
  const types = text
    .split(',')
    .map((type) => type.trim())
    .filter((type) => type !== '');
  if (types.length === 0) throw new InvalidArgumentError('Name an event type, or leave the option out for all.');
  return types.map(eventType);
}

export function wholeNumber(minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= minimum) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${minimum}.`);
  };
}

/** Where to begin: `beginning`, `head` or a seq. */
export function feedStart(text: string): 'beginning' | 'head' | number {
  return text === 'beginning' || text === 'head' ? text : wholeNumber(0)(text);
}
