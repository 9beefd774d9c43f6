import { describe, expect, it } from '@jest/globals';
import { Partitioners } from 'kafkajs';
import { bufferBytesDuring } from './buffer-bytes.js';

const A_PARTITION = { partitionErrorCode: 0, partitionId: 0, leader: 0, replicas: [], isr: [] };
const TEN = Buffer.from('0123456789');

/** What this file is charged with. */
async function counted(act: () => unknown): Promise<object> {
  const bytes = await bufferBytesDuring(async () => {
    await act();
  });
  return Object.fromEntries(
    Object.entries(bytes.costs(1)).map(([name, count]) => [name.replace('the test: ', ''), count]),
  );
}

describe('what is done to the bytes of buffers', () => {
  it('is a copy from one into another', async () => {
    const target = Buffer.alloc(100);
    expect(await counted(() => TEN.copy(target, 0, 2, 8))).toEqual({ 'bytes copied': 6 });
    expect(
      await counted(() => {
        target.set(TEN);
      }),
    ).toEqual({ 'bytes copied': 10 });
  });

  it('is a copy into a new one', async () => {
    const both = { 'bytes copied': 20, 'bytes in new buffers': 20 };
    expect(await counted(() => Buffer.concat([TEN, TEN]))).toEqual(both);
    expect(await counted(() => [Buffer.from(TEN), new Uint8Array(TEN.subarray()).slice()])).toEqual(both);
  });

  it('is text that is written into one, or read from it', async () => {
    const target = Buffer.alloc(100);
    expect(await counted(() => target.write('zwölf', 3))).toEqual({ 'bytes converted': 6 });
    expect(await counted(() => TEN.toString('latin1', 4))).toEqual({ 'bytes converted': 6 });
    expect(await counted(() => TEN.toString())).toEqual({ 'bytes converted': 10 });
    expect(await counted(() => Buffer.from('zwölf'))).toEqual({ 'bytes converted': 6, 'bytes in new buffers': 6 });
  });

  it('is a new one, from the pool or not', async () => {
    expect(await counted(() => [Buffer.alloc(1), Buffer.allocUnsafe(10), Buffer.allocUnsafe(10_000)])).toEqual({
      'bytes in new buffers': 10_011,
    });
  });

  it('is not another view of it', async () => {
    expect(await counted(() => [TEN.subarray(1), Buffer.from(TEN.buffer, 0, 5)])).toEqual({});
  });

  it('is counted by whose code it is', async () => {
    const partition = Partitioners.DefaultPartitioner();
    const message = { key: 'zwölf', value: null };
    const act = () => Promise.resolve(partition({ topic: 't', partitionMetadata: [A_PARTITION], message }));
    // The first time it does more.
    await act();
    const bytes = await bufferBytesDuring(act);
    expect(bytes.costs(1)).toEqual({
      'kafkajs: bytes converted': 6,
      'kafkajs: bytes in new buffers': 6,
      'all: bytes converted': 6,
      'all: bytes in new buffers': 6,
    });
  });

  it('is not counted any more when it is over', async () => {
    const before = Object.entries(Object.getOwnPropertyDescriptors(Buffer.prototype));
    await expect(bufferBytesDuring(() => Promise.reject(new Error('over')))).rejects.toThrow('over');
    expect(Object.entries(Object.getOwnPropertyDescriptors(Buffer.prototype))).toEqual(before);
  });
});
