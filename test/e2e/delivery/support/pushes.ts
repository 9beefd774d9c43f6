import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { Envelope } from '../../../support/api-client.js';
import type { Received, Receiver } from '../../../support/receiver.js';

export function headerOf(push: Received, name: string): string {
  const value = push.headers[name];
  if (typeof value !== 'string') throw new Error(`the push has no ${name}`);
  return value;
}

export function envelopeOf(push: Received): Envelope {
  return JSON.parse(push.body.toString()) as Envelope;
}

export function seqOf(push: Received): number {
  return envelopeOf(push).seq;
}

/** The seqs of pushes, sorted: those of an endpoint without `ordering` may overtake each other. */
export function sortedSeqsOf(pushes: readonly Received[]): readonly number[] {
  return pushes.map(seqOf).toSorted((a, b) => a - b);
}

/** The seqs of the pushes that the receiver got, as their header says, in the order in which they came. */
export function seqsAt({ received }: Receiver): readonly number[] {
  return received.map((push) => Number(headerOf(push, 'x-service-sequence')));
}

/**
 * The attempts of an endpoint's events that the receiver got, as `seq/attempt`, in the order in which they came first.
 * One that is in flight when a dispatcher joins or leaves may come twice.
 */
export function attemptsAt({ received }: Receiver): readonly string[] {
  return [...new Set(received.map((push) => `${headerOf(push, 'x-service-sequence')}/${attemptOf(push)}`))];
}

export function deliveryIdOf(push: Received): string {
  return headerOf(push, 'x-service-delivery-id');
}

export function attemptOf(push: Received): number {
  return Number(headerOf(push, 'x-service-attempt'));
}

/** When the push was signed, in seconds since the epoch. */
export function signedAt(push: Received): number {
  return Number(/^t=(\d+),/.exec(headerOf(push, 'x-service-signature'))?.[1]);
}

/** Whether both signatures of the push are those of the secret (contract 6.2); reckoned here as a consumer would. */
export function isSignedWith(secret: string, push: Received): boolean {
  const hmac = (message: Buffer) => createHmac('sha256', secret).update(message).digest('hex');
  const stamped = Buffer.concat([Buffer.from(`${signedAt(push)}.`), push.body]);
  return (
    headerOf(push, 'x-service-signature') === `t=${signedAt(push)},v1=${hmac(stamped)}` &&
    headerOf(push, 'x-webhook-signature') === hmac(push.body)
  );
}

/** Shows that no push comes to the receiver any more; waits for as long as one could still come. */
export async function nothingMoreComes(receiver: Receiver, withinMs: number): Promise<void> {
  const before = receiver.received.length;
  await pause(withinMs);
  expect(receiver.received.slice(before)).toEqual([]);
}
