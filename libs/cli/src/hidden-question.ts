import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/** Asks on the terminal, and does not show what is typed. */
export function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const hidden = new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  const reader = createInterface({ input: process.stdin, output: hidden, terminal: true });
  return new Promise((resolve) => {
    let answer = '';
    reader.once('line', (line) => {
      answer = line;
      reader.close();
    });
    // Ctrl-C and Ctrl-D close it without an answer.
    reader.once('close', () => {
      process.stderr.write('\n');
      resolve(answer);
    });
  });
}
