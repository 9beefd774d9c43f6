/**
 * The most combining marks in a row. Burmese and Hebrew have up to five on a letter, Thai and Vietnamese two. Dozens of
 * them cover the lines above and below.
 */
export const MAX_MARKS = 6;

/** Blank, though they are neither space nor invisible: the empty Braille cell, and the place of an object. */
const BLANK = /[\u2800\ufffc]/gu;
const SHOWS = /[\p{L}\p{N}\p{P}\p{S}\p{Extended_Pictographic}]/u;
const TOO_MANY_MARKS = new RegExp(String.raw`\p{M}{${MAX_MARKS + 1}}`, 'u');

/** Change the direction of the text around them. */
const BIDI_CONTROL = /\p{Bidi_Control}/u;
/** Have no width: zero-width spaces, fillers, tags, selectors, soft hyphens, annotations, and separators of lines. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u;

/** The flags of England, Scotland, Wales and the like. */
const FLAG_OF_REGION = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}/gu;
/** In emoji, joiners are between two pictures. */
const JOINED_PICTURES = /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})/gu;
/** In Persian, Hindi and other languages, joiners choose the form of a letter. In these scripts they do nothing. */
const JOINER = /(?<=[\p{L}\p{M}])[\u200c\u200d](?![\u200c\u200d])/gu;
const WITHOUT_JOINERS =
  /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]\p{M}*[\u200c\u200d]/u;
/** Choose the form of the character before: of a picture, a symbol, a digit, or a Chinese character in Japanese names. */
const SELECTOR = /(?<=[\p{L}\p{N}\p{P}\p{S}])[\ufe00-\ufe0f]|(?<=\p{Script=Han})[\u{e0100}-\u{e01ef}]/gu;
/** The forms of letters in Mongolian. */
const MONGOLIAN = /(?<=\p{Script=Mongolian})[\u180b-\u180f]/gu;

function withoutRightful(text: string): string {
  const rest = text.replace(FLAG_OF_REGION, '').replace(JOINED_PICTURES, '');
  const unjoined = WITHOUT_JOINERS.test(rest) ? rest : rest.replace(JOINER, '');
  return unjoined.replace(SELECTOR, '').replace(MONGOLIAN, '');
}

/**
 * Returns what is wrong with a text that people see, such as a name; `null` if nothing is. Names that look empty, or like
 * others, mislead people; some spill over what is around them.
 */
export function problemOfShownText(text: string): string | null {
  if (BIDI_CONTROL.test(text)) return 'must not hold characters that change the direction of text';
  if (INVISIBLE.test(withoutRightful(text))) return 'must not hold invisible characters';
  if (TOO_MANY_MARKS.test(text)) return `must not have more than ${MAX_MARKS} combining marks in a row`;
  return text !== '' && !SHOWS.test(text.replace(BLANK, '')) ? 'must show something' : null;
}
