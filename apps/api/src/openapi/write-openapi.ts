import { keepCommittedFile } from '#libs/runtime';
import { OPENAPI_JSON } from './openapi-document.js';

// Keeps docs/openapi.json.
await keepCommittedFile(process.argv.slice(2), OPENAPI_JSON);
