import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import type { AuditActor } from '#libs/postgres';
import type { AuthenticatedKey } from '../auth/authenticated-key.js';
import { Exchange } from './exchange.js';

function aStream(signal = new AbortController().signal) {
  const exchange = new Exchange(
    'org' as OrgId,
    {} as AuthenticatedKey,
    {} as AuditActor,
    () => Promise.resolve(true),
    signal,
  );
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start(started) {
      controller = started;
    },
  });
  const send = (text: string) =>
    exchange.send(() => {
      controller.enqueue(Buffer.from(text));
      return Promise.resolve();
    });
  return {
    exchange,
    frames: exchange.frames(body),
    send,
    end: () => {
      controller.close();
    },
  };
}

async function isDone(work: Promise<void>): Promise<boolean> {
  let done = false;
  void work.then(() => {
    done = true;
  });
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  return done;
}

describe('a stream to a client', () => {
  it('waits after each message until the client takes more', async () => {
    const { frames, send, end } = aStream();
    const first = send('one');
    expect(await isDone(first)).toBe(false);
    expect(String((await frames.next()).value)).toBe('one');
    expect(await isDone(first)).toBe(false);
    const next = frames.next();
    expect(await isDone(first)).toBe(true);
    void send('two');
    expect(String((await next).value)).toBe('two');
    end();
    expect(await frames.next()).toEqual({ done: true, value: undefined });
  });

  it('puts texts into their places', async () => {
    const { exchange, frames, send } = aStream();
    void send(JSON.stringify({ data: exchange.verbatim.place('1.0') }));
    expect(String((await frames.next()).value)).toBe('{"data":1.0}');
  });

  it('ends the exchange with its last message', async () => {
    const { exchange, frames, send, end } = aStream();
    void send('one');
    await frames.next();
    expect(await isDone(exchange.ended)).toBe(false);
    end();
    await frames.next();
    expect(await isDone(exchange.ended)).toBe(true);
  });

  it('waits no more once the client is gone', async () => {
    const gone = new AbortController();
    const { send } = aStream(gone.signal);
    const first = send('one');
    gone.abort();
    expect(await isDone(first)).toBe(true);
    expect(await isDone(send('two'))).toBe(true);
  });
});
