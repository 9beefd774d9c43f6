export { asymmetricSignature } from './asymmetric-signature.js';
export { legacySignature, serviceSignature } from './service-signature.js';
export { standardWebhooksSignature } from './standard-webhooks-signature.js';
export {
  verifySignature,
  type SignatureProblem,
  type SignatureVerdict,
  type VerifySignatureOptions,
} from './verify-signature.js';
export {
  publicKeysOf,
  verifyStandardSignature,
  type SigningKeySet,
  type VerifyStandardSignatureOptions,
} from './verify-standard-signature.js';
