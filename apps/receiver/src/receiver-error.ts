/** What the person at the terminal can mend; shown without a stack. */
export class ReceiverError extends Error {
  override readonly name = 'ReceiverError';
}
