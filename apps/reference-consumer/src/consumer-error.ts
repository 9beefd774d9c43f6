/** What the person at the terminal can mend; shown without a stack. */
export class ConsumerError extends Error {
  override readonly name = 'ConsumerError';
}
