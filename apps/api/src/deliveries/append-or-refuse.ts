import { GaplessError } from '#libs/domain';
import type { Appender, NewRecord } from '#libs/kafka-log';

/** @throws GaplessError `unavailable` when the brokers cannot be reached; the operation can be repeated */
export async function appendOrRefuse(appender: Appender, records: readonly NewRecord[]): Promise<void> {
  try {
    await appender.append(records);
  } catch (cause) {
    throw new GaplessError('unavailable', 'The log cannot be reached; repeat the request.', { cause });
  }
}
