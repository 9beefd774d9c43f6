import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { LARGEST_BATCH_BYTES } from '../topics/limits.js';
import { BATCH } from './record-batch-layout.js';

const unzip = promisify(gunzip);

/** The most bytes that a batch may unpack to: some kilobytes can unpack to gigabytes. */
const MOST_UNPACKED_BYTES = 2 * LARGEST_BATCH_BYTES;

const NAMES = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
const NONE = 0;
const GZIP = 1;

/**
 * Unpacks a batch of records.
 * @param compression the code from the batch's attributes
 * @returns the batch with its head unchanged, and its records unpacked
 * @throws if the compression is unknown, or the batch is damaged or larger than allowed
 */
export async function unpack(batch: Buffer, compression: number): Promise<Buffer> {
  if (compression === NONE) return batch;
  if (compression !== GZIP) {
    const name = NAMES[compression] ?? `compression ${compression}`;
    throw new Error(`it is compressed by ${name}; use gzip, or no compression`);
  }
  try {
    const records = await unzip(batch.subarray(BATCH.records), { maxOutputLength: MOST_UNPACKED_BYTES });
    return Buffer.concat([batch.subarray(0, BATCH.records), records]);
  } catch (error) {
    const isTooLarge = (error as { readonly code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE';
    throw new Error(
      isTooLarge ? `it has more than ${MOST_UNPACKED_BYTES} bytes unpacked` : 'its compression is damaged',
      {
        cause: error,
      },
    );
  }
}
