export { ApiError, type ApiErrorKind, type ApiProblem } from '../../api-client/src/index.js';
export * from '../../event-types/src/index.js';
export {
  publicKeysOf,
  verifySignature,
  verifyStandardSignature,
  type SignatureProblem,
  type SignatureVerdict,
  type SigningKeySet,
  type VerifySignatureOptions,
  type VerifyStandardSignatureOptions,
} from '../../webhook-signature/src/index.js';
export * from './feed/cursor.js';
export * from './feed/example.js';
export * from './feed/feed.js';
export type { NamedCursor } from './feed/named-cursor.js';
export { FeedClient, type FeedClientOptions } from './feed/feed-client.js';
export { FeedGapError } from './feed/feed-gap.js';
export { FeedPrunedError, type FeedStart, type OnPruned } from './feed/feed-start.js';
export * from './feed/read-feed.js';
export { FeedResetError } from './feed/reset-watch.js';
export * from './stream/dedup.js';
export {
  EventStream,
  WrongOrganizationError,
  type EventSource,
  type EventStreamOptions,
  type HandlingContext,
} from './stream/event-stream.js';
export * from './webhook/push-gaps.js';
export * from './webhook/read-push-gaps.js';
export * from './webhook/webhook.js';
