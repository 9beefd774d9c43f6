import type { DeliveryFact } from './delivery-fact.js';
import { isFact, type UnknownFact } from './fact-members.js';

export function encodeFact(fact: DeliveryFact): Buffer {
  return Buffer.from(JSON.stringify(fact));
}

/** Decodes a fact; returns `undefined` if the value is not one. Only Gapless writes facts. */
export function decodeFact(value: Buffer | null): DeliveryFact | undefined {
  if (value === null) return undefined;
  try {
    const fact = JSON.parse(value.toString()) as UnknownFact;
    return isFact(fact) ? fact : undefined;
  } catch {
    return undefined;
  }
}
