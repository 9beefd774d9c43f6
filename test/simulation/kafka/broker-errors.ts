import kafkajs from 'kafkajs';

/** What a broker refuses a request with. */
export class BrokerError extends kafkajs.KafkaJSError {
  override readonly name = 'KafkaJSProtocolError';

  constructor(
    readonly type: string,
    retriable: boolean,
  ) {
    super(`The broker answered ${type}`, { retriable });
  }
}

export function connectionBroken(): Error {
  return new kafkajs.KafkaJSConnectionError('Connection error: closed by the other side', { broker: 'simulated:9092' });
}

/** Whether a member has to join its group again. */
export function isRebalancing(error: unknown): boolean {
  return error instanceof BrokerError && ['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION'].includes(error.type);
}

export function isUnknownMember(error: unknown): boolean {
  return error instanceof BrokerError && error.type === 'UNKNOWN_MEMBER_ID';
}
