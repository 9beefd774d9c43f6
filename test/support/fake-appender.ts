import type { Appender, NewRecord } from '#libs/kafka-log';

/** An appender that keeps what it is given, and fails `failures` times. */
export class FakeAppender {
  /** The records of each append that succeeded. */
  readonly appends: (readonly NewRecord[])[] = [];
  /** How many of the next appends fail. */
  failures = 0;

  append(records: readonly NewRecord[]): Promise<void> {
    if (this.failures > 0) {
      this.failures--;
      return Promise.reject(new Error('the brokers are away'));
    }
    if (records.length > 0) this.appends.push(records);
    return Promise.resolve();
  }

  get records(): readonly NewRecord[] {
    return this.appends.flat();
  }

  /** To be handed to what wants the real one. */
  get asAppender(): Appender {
    return this as unknown as Appender;
  }
}
