/** An error that the user can fix, shown without a stack. */
export class ConsumerError extends Error {
  override readonly name = 'ConsumerError';
}
