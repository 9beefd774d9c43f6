import { keepCommittedFile } from '#libs/runtime';
import { SIGNATURE_VECTORS_JSON } from './signature-vectors.js';

// Keeps test/vectors/signatures.json.
await keepCommittedFile(process.argv.slice(2), SIGNATURE_VECTORS_JSON);
