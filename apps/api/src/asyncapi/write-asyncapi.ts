import { keepCommittedFile } from '#libs/runtime';
import { ASYNCAPI_JSON } from './asyncapi-document.js';

// Keeps docs/asyncapi.json.
await keepCommittedFile(process.argv.slice(2), ASYNCAPI_JSON);
