import { gzipSync } from 'node:zlib';
import type { Packing } from './record-batch.js';

function int32LE(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

/** In a varint, and as one literal: valid, though not smaller. */
function snappy(records: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = records.length; ; rest >>>= 7) {
    if (rest < 128) {
      length.push(rest);
      break;
    }
    length.push((rest & 0x7f) | 0x80);
  }
  const size = records.length - 1;
  return Buffer.concat([Buffer.from([...length, 61 << 2, size & 0xff, size >>> 8]), records]);
}

/** A frame with one block that is stored as it is. */
function lz4(records: Buffer): Buffer {
  const head = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
  return Buffer.concat([head, int32LE(records.length + 2 ** 31), records, int32LE(0)]);
}

/** A frame of one raw block, of 256 bytes at least. */
function zstd(records: Buffer): Buffer {
  const size = records.length - 256;
  const block = 1 | (records.length << 3);
  const head = [0x28, 0xb5, 0x2f, 0xfd, 0x60, size & 0xff, size >>> 8];
  return Buffer.concat([Buffer.from([...head, block & 0xff, (block >>> 8) & 0xff, block >>> 16]), records]);
}

/** How producers compress batches; from 256 bytes to 64 KiB. */
export const PACKINGS = {
  gzip: { attributes: 1, pack: (records) => gzipSync(records) },
  snappy: { attributes: 2, pack: snappy },
  lz4: { attributes: 3, pack: lz4 },
  zstd: { attributes: 4, pack: zstd },
} as const satisfies Record<string, Packing>;
