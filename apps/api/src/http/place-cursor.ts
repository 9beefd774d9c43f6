/**
 * Returns how the places of a list become opaque cursors, and are read from them.
 * @param parse returns `undefined` for text that names no place
 */
export function placeCursor<Place>(textOf: (place: Place) => string, parse: (text: string) => Place | undefined) {
  const encode = (place: Place) => Buffer.from(textOf(place)).toString('base64url');
  return {
    encode,
    decode: (cursor: string): Place | undefined => {
      const place = parse(Buffer.from(cursor, 'base64url').toString('latin1'));
      // Each place has only one valid spelling, although Buffer ignores characters that are not base64url.
      return place !== undefined && encode(place) === cursor ? place : undefined;
    },
  };
}
