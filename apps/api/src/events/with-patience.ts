/**
 * Yields the texts, and calls `giveUp` if the reader does not take the next one within `patienceMs`.
 * @param giveUp has to end the reading
 */
export async function* withPatience<Text>(
  texts: AsyncIterable<Text>,
  patienceMs: number,
  giveUp: () => void,
): AsyncGenerator<Text, void, undefined> {
  for await (const text of texts) {
    const timer = setTimeout(giveUp, patienceMs);
    try {
      yield text;
    } finally {
      clearTimeout(timer);
    }
  }
}
