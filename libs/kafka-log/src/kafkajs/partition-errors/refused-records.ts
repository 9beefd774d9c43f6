import type { ProduceRequest } from '../produce-request.js';
import { errorOfCode } from './error-of-code.js';

/** kafkajs' form of a Produce response, as far as it is used here. */
interface ProduceResponse {
  readonly topics: readonly {
    readonly partitions: readonly { readonly errorCode: number }[];
  }[];
}

type Parse = (response: unknown) => Promise<unknown>;

/**
 * Codes of the protocol with which a partition says that it has written none of the records: CORRUPT_MESSAGE,
 * MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, NOT_ENOUGH_REPLICAS, TOPIC_AUTHORIZATION_FAILED, INVALID_TIMESTAMP,
 * INVALID_RECORD.
 */
const REFUSALS: ReadonlySet<number> = new Set([2, 10, 18, 19, 29, 32, 87]);

/** The batches that were sent, each by its first message. */
const sent = new WeakSet();

/** Returns why a partition has refused its records; `undefined` if it has them. */
export function refusalOf(errorCode: number): Error | undefined {
  return REFUSALS.has(errorCode) ? errorOfCode(errorCode) : undefined;
}

/**
 * Lets a request of an idempotent producer succeed if all that went wrong is that partitions have refused their records.
 * The caller sees it by their error codes. kafkajs itself fails the whole request, also for the other partitions. It
 * still does if the request repeats an earlier one, because that one may have written what is refused now.
 */
export function allowRefusals({ producerId = -1, topicData }: ProduceRequest, parse: Parse): Parse {
  const firsts = topicData.flatMap(({ partitions }) => partitions.flatMap(({ messages }) => messages[0] ?? []));
  const isRepeat = firsts.some((first) => sent.has(first));
  for (const first of firsts) sent.add(first);
  if (isRepeat || Number(producerId) < 0) return parse;
  return async (response) => {
    const { topics } = response as ProduceResponse;
    const others = topics.map(({ partitions }) => ({
      partitions: partitions.filter(({ errorCode }) => !REFUSALS.has(errorCode)),
    }));
    await parse({ topics: others });
    return response;
  };
}
