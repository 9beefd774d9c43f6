import { rmSync } from 'node:fs';
import { startEmbeddedKafka } from '#libs/embedded-stack';
import { newDataDir } from './gapless-process.js';

/** Where `npm run bench` puts the jars of Kafka. */

/** A Kafka as a Gapless has it, alone and fresh. */
export interface BareKafka {
  readonly brokers: string;
  /** Settles with the reason when it ends without `stop`; never, otherwise. */
  readonly died: Promise<Error>;
  /** Ends it and removes its data. */
  readonly stop: () => Promise<void>;
}

/** @throws what `startEmbeddedKafka` throws; nothing is left then */
export async function startBareKafka(signal: AbortSignal): Promise<BareKafka> {
  const dataDir = newDataDir();
  const remove = () => {
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const kafka = await startEmbeddedKafka({ dataDir, log: () => undefined, signal, port: 0 });
    return {
      brokers: kafka.brokers,
      died: kafka.died,
      stop: async () => {
        await kafka.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}
