/** kafkajs' encoder of requests. */
export interface Encoder {
  buf: Buffer;
  offset: number;
}

/** kafkajs' encoder and decoder of one version of a request. */
interface Exchange {
  readonly request: { encode(): Promise<Encoder> };
  readonly response: {
    decode(bytes: Buffer): Promise<unknown>;
    /** @throws the error of a topic or partition, if one has an error code */
    parse(response: unknown): Promise<unknown>;
  };
}

/** All versions of a request. */
export interface RequestDefinition<Arguments> {
  protocol(wanted: { readonly version: number }): (args: Arguments) => Exchange;
}

/** Replaces how kafkajs writes a request or reads its answer, for the whole thread. */
export function replaceExchange<Arguments>(
  definition: RequestDefinition<Arguments>,
  change: (wanted: { readonly version: number }, args: Arguments, exchange: Exchange) => Exchange,
): void {
  const protocol = definition.protocol.bind(definition);
  definition.protocol = (wanted) => {
    const make = protocol(wanted);
    return (args) => change(wanted, args, make(args));
  };
}
