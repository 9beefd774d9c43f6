/** Signatures of bodies that are signed before they are sent, by what they depend on beside the body. */
const kept = new WeakMap<Buffer, Map<string, string>>();

/** Keeps the signatures of this body, for as long as there is the body: they are needed again when it is sent. */
export function keepSignatures(body: Buffer): void {
  kept.set(body, new Map());
}

/** Returns the signature that was kept, or makes it. */
export function signedOnce(body: Buffer, dependsOn: readonly (string | number)[], sign: () => string): string {
  const signatures = kept.get(body);
  if (signatures === undefined) return sign();
  const key = dependsOn.join(' ');
  const known = signatures.get(key);
  if (known !== undefined) return known;
  const signature = sign();
  signatures.set(key, signature);
  return signature;
}
