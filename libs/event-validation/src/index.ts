export { tooDeepAt } from './nesting.js';
export type { SubmittedEvent } from './parse-event.js';
export { parseInboxValue, type InboxReading, type InboxRules } from './parse-inbox-value.js';
export {
  INGEST_LIMITS,
  parseSubmission,
  SubmissionParser,
  type IngestLimits,
  type SubmissionContext,
} from './parse-submission.js';
export { parseTimestamp } from './rfc3339.js';
export { exampleEnvelope, partOf } from './schemas/event-schema-files.js';
