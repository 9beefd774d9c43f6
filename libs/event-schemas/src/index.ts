export { EVENT_SCHEMA_FILES, exampleEnvelope } from './event-schema-files.js';
