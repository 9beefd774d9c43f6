// Prints what the recipe says of each vector, one per line: run-vectors.mjs <vectors.json>
import { readFileSync } from 'node:fs';
import { signatureProblem } from '../../docs/recipes/verify-signature.mjs';

const { vectors } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
for (const { header, body_base64, secret, now } of vectors) {
  console.log(signatureProblem({ header, body: Buffer.from(body_base64, 'base64'), secret, now }) ?? 'valid');
}
