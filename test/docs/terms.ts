/** Words that are not written, and what is written in their place. */
const TERMS: readonly (readonly [RegExp, string])[] = [
  [/\btell(s|ing)?\b|\btold\b/i, 'report, show, say, return, print'],
  [/\banew\b/i, 'again'],
  [/\bstands? (in|beside)\b/i, 'is in, holds, lists'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\bwho(m)?ever\b/i, 'anyone who'],
  [/\bamong (it|them)\b/i, 'such as, including'],
  [/(^|[.:;] )Else\b/, 'otherwise'],
  [/\bhold(s|ing)? up\b/i, 'block'],
  [/\bwhat is not valid\b/i, 'invalid …'],
  [/\b(behind|in front of) (it|them|the|its)\b/i, 'after, before'],
  [/\b(All that is|What is) /, 'every X that …'],
];

/** Returns each term of the text that is not written, with what to write instead. */
export function termsIn(text: string): readonly string[] {
  return TERMS.filter(([term]) => term.test(text)).map(([, instead]) => `${text} → ${instead}`);
}
