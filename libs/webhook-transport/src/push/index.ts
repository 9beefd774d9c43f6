export type { EgressProxyOptions } from './egress-proxy.js';
export type { PushError, PushOutcome, PushRequest } from './push-attempt.js';
export { createPushClient, type PushClient, type PushClientOptions } from './push-client.js';
export { attemptTraceParent, pushHeaders, SIGNATURE_HEADERS, type PushedAttempt } from './push-headers.js';
