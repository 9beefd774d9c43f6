/** Where a database is among those that share the feed. */
export interface FeedPlace {
  /** From 0; `null`: the database holds no feed. */
  readonly place: number | null;
  /** How many databases share the feed. */
  readonly places: number;
}

/** What a database says about itself. */
export interface PlacedDatabase extends FeedPlace {
  /** The installation that the database belongs to. */
  readonly installation: string;
  /** The list of databases that its part of the feed belongs to; `null`: it has no id, since the feed has never moved. */
  readonly list: string | null;
}

export type FeedPlaceVerdict =
  | { readonly kind: 'same' }
  /** The database is new, and takes its place. */
  | { readonly kind: 'begin' }
  | { readonly kind: 'refuse'; readonly reason: string };

const HOW_TO_MOVE =
  'Correct PROJECTION_DATABASE_URLS. To move the feed to other databases while Gapless runs, run "gapless rebuild --to". ' +
  'To build it in the listed databases, stop all processes, run "gapless rebuild --assign-places", then start them.';

const HOW_TO_END =
  'Run "gapless rebuild --assign-places" again, with the PROJECTION_DATABASE_URLS that all processes get. It builds the feed ' +
  'there from the log, whichever list was meant before. Then start the processes.';

function refuse(reason: string, remedy = HOW_TO_MOVE): FeedPlaceVerdict {
  return { kind: 'refuse', reason: `${reason}\n${remedy}` };
}

/** The place of a main database while the feed moves to other databases. No list agrees with it. */
export const MOVING: FeedPlace = { place: null, places: 0 };

/** Judges whether the main database has the place that the settings give it. */
export function judgeMainPlace(found: FeedPlace, expected: FeedPlace): FeedPlaceVerdict {
  if (found.places === MOVING.places) {
    return refuse(
      'The feed is being built in other databases ("gapless rebuild --assign-places"), or that was interrupted.',
      HOW_TO_END,
    );
  }
  if (found.places !== expected.places) {
    return refuse(
      `PROJECTION_DATABASE_URLS makes ${counted(expected.places)} hold the feed, but this installation spreads it over ${counted(found.places)}.`,
    );
  }
  if (found.place === expected.place) return { kind: 'same' };
  return refuse(
    `In PROJECTION_DATABASE_URLS, the main database (DATABASE_URL) is ${placeText(expected)}, but it holds ${contentText(found)}.`,
  );
}

/** A listed database that is not the main one, and what it should be. */
export interface ListedDatabase {
  /** Its address, without the account. */
  readonly name: string;
  readonly row: PlacedDatabase | null;
  readonly expected: PlacedDatabase & { readonly place: number };
  /** Whether the database of this place has begun before. */
  readonly hasJoined: boolean;
}

/** Judges whether a listed database has the place that the settings give it. */
export function judgeListedPlace({ name, row, expected, hasJoined }: ListedDatabase): FeedPlaceVerdict {
  const its = `The database ${name}, number ${expected.place + 1} of PROJECTION_DATABASE_URLS,`;
  if (row === null) {
    if (!hasJoined) return { kind: 'begin' };
    return refuse(`${its} is empty, but it should hold ${contentText(expected)}: it was lost or replaced.`);
  }
  if (row.installation !== expected.installation) {
    return refuse(`${its} belongs to installation ${row.installation}, and not to ${expected.installation}.`);
  }
  if (row.place === null) return refuse(`${its} was left when the feed moved to other databases.`);
  if (row.place !== expected.place || row.places !== expected.places) {
    return refuse(`${its} holds ${contentText(row)}.`);
  }
  if (row.list !== expected.list) {
    return refuse(`${its} is of another list, which the feed has not moved to, or has left.`);
  }
  return { kind: 'same' };
}

function counted(places: number): string {
  return places === 1 ? 'one database' : `${places} databases`;
}

function placeText({ place }: FeedPlace): string {
  return place === null ? 'missing' : `number ${place + 1}`;
}

function contentText({ place, places }: FeedPlace): string {
  return place === null ? 'no feed' : `part ${place + 1} of ${places} of the feed`;
}
