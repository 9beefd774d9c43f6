import { requireKafkajs } from '../patching/patch.js';

const { createErrorFromCode } = requireKafkajs('protocol/error.js') as {
  readonly createErrorFromCode: (code: number) => Error;
};

/** Returns kafkajs' error for a code of the protocol. */
export function errorOfCode(code: number): Error {
  return createErrorFromCode(code);
}
