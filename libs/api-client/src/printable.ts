/** Characters that could make a terminal do something. JSON leaves some of these in texts. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** Returns the text on one line, without characters that control a terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, '�');
}
