export type {
  AttemptedDelivery,
  DestinationContext,
  DestinationKind,
  SentRequest,
  UrlVerdict,
} from './destination-kind.js';
export { Destinations, kindOf, urlCheck } from './destinations.js';
export * from './http/addresses/index.js';
export { loadCertificate } from './http/certificates/client-certificate.js';
export { openCallbackClient, type CallbackClient, type CallbackOutcome } from './http/callback-client.js';
export { attemptTraceParent } from './attempt-trace-parent.js';
