import { systemClock } from '#libs/domain';
import { errorsAsMessages } from './partition-errors/failed-fetches.js';
import { decodeFetch, type DecodeRecords } from './fetch-response.js';
import { noteStableOffset } from './open-transactions.js';
import { replaceExchange, type Encoder, type RequestDefinition } from './patching/exchanges.js';
import { requireKafkajs } from './patching/patch.js';
import { encodeProduce, type ProduceRequest } from './produce-request.js';
import { allowRefusals } from './partition-errors/refused-records.js';

/** The content of a Fetch request. */
interface FetchRequest {
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number; readonly fetchOffset: string }[];
  }[];
}

/** The first version with batches of magic 2. kafkajs' later versions write the same request. */
const PRODUCE_VERSION = 3;
/** The latest version that kafkajs knows. kafkajs uses it with every broker that Gapless supports. */
const FETCH_VERSION = 11;

/**
 * Replaces kafkajs' encoding and decoding of records by the codec in this folder (ADR 28). Where that codec declines,
 * kafkajs' own is used. It changes kafkajs for the whole thread.
 */
export function replaceCodec(): void {
  const EncoderOfKafkajs = requireKafkajs('protocol/encoder.js') as new (bytes: number) => Encoder;
  const produce = requireKafkajs('protocol/requests/produce/index.js') as RequestDefinition<ProduceRequest>;
  const fetch = requireKafkajs('protocol/requests/fetch/index.js') as RequestDefinition<FetchRequest>;
  const DecoderOfKafkajs = requireKafkajs('protocol/decoder.js') as new (bytes: Buffer) => object;
  const decodeMessages = requireKafkajs('protocol/requests/fetch/v4/decodeMessages.js') as (
    decoder: object,
  ) => ReturnType<DecodeRecords>;
  const decodeRecords: DecodeRecords = (sized) => decodeMessages(new DecoderOfKafkajs(sized));

  replaceExchange(produce, ({ version }, args, exchange) => {
    if (version < PRODUCE_VERSION) return exchange;
    const { request, response } = exchange;
    const encode = async (): Promise<Encoder> => {
      const buf = encodeProduce(args, systemClock.now());
      if (buf === undefined) return request.encode();
      return Object.assign(new EncoderOfKafkajs(0), { buf, offset: buf.length });
    };
    const parse = allowRefusals(args, (answer) => response.parse(answer));
    return { request: { ...request, encode }, response: { ...response, parse } };
  });
  replaceExchange(fetch, ({ version }, { topics }, exchange) => {
    if (version !== FETCH_VERSION) return exchange;
    const { response } = exchange;
    const fetchOffsetOf = (topic: string, partition: number) =>
      Number(
        topics.find((wanted) => wanted.topic === topic)?.partitions.find((wanted) => wanted.partition === partition)
          ?.fetchOffset ?? 0,
      );
    const decode = async (bytes: Buffer): Promise<unknown> => {
      const answer = await decodeFetch(bytes, decodeRecords, fetchOffsetOf);
      for (const { topicName, partitions } of answer.responses) {
        for (const { partition, lastStableOffset, highWatermark } of partitions) {
          noteStableOffset(topicName, partition, Number(lastStableOffset), Number(highWatermark));
        }
      }
      return errorsAsMessages(answer, fetchOffsetOf);
    };
    return { ...exchange, response: { ...response, decode } };
  });
}
