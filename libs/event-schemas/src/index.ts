export { exampleEnvelope, partOf } from './event-schema-files.js';
