/**
 * Hands the texts on, and gives up on a reader that does not take the next one in time.
 * @param giveUp is called once then; it has to end the reading
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
