export { legacySignature, serviceSignature } from './service-signature.js';
export { standardWebhooksSignature } from './standard-webhooks-signature.js';
export {
  verifySignature,
  type SignatureProblem,
  type SignatureVerdict,
  type VerifySignatureOptions,
} from './verify-signature.js';
