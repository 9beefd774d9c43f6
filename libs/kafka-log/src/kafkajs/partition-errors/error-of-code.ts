import { createRequire } from 'node:module';

const { createErrorFromCode } = createRequire(import.meta.url)('kafkajs/src/protocol/error.js') as {
  readonly createErrorFromCode: (code: number) => Error;
};

/** Returns kafkajs' error for a code of the protocol. */
export function errorOfCode(code: number): Error {
  return createErrorFromCode(code);
}
