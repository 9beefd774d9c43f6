import type { JsonObject } from '#libs/domain';
import { PATHS } from './paths.js';
import { PUSHES, PUSH_PARAMETERS } from './pushes.js';
import { SCHEMAS } from './schemas.js';

const DESCRIPTION = `
Every event in an organization's workspace is appended to an append-only log with a gap-free \`seq\`, and reaches you in two
ways from the same stored bytes: **pushed**, as a signed POST to the endpoints you register, and **pulled**, from a feed that
you read at your own pace. If a push fails, the event is still in the feed.

A delivery can arrive more than once: deduplicate on the envelope's \`id\`. A jump in \`seq\` is an event that you have missed, or
one that your endpoint does not get. The feed has it.

Errors are \`application/problem+json\` (RFC 9457) with a stable \`code\`. Every answer carries \`X-Request-Id\`.
`.trim();

/** The OpenAPI 3.1 description of the HTTP interface. */
export const OPENAPI_DOCUMENT: JsonObject = {
  openapi: '3.1.0',
  info: { title: 'Gapless', version: '1.0.0', license: { name: 'MIT', identifier: 'MIT' }, description: DESCRIPTION },
  servers: [{ url: '/' }],
  tags: [
    { name: 'Events', description: 'The pull feed and the catalog.' },
    { name: 'Webhook endpoints', description: 'The URLs that receive pushes.' },
    { name: 'Deliveries', description: 'The state and attempts of each push.' },
    { name: 'API keys', description: 'Keys and their scopes.' },
    { name: 'Organizations', description: 'Records, keys and statistics of organizations, for your backend.' },
    { name: 'Portal', description: 'Sessions of the customer portal.' },
    { name: 'Dashboard', description: 'Signing in, and the data of its pages.' },
    { name: 'For product services', description: 'Operations that submit events.' },
    { name: 'Live chat', description: 'Unanswered conversations.' },
    { name: 'Pushes', description: 'The requests that endpoints receive.' },
  ],
  paths: PATHS,
  webhooks: PUSHES,
  components: {
    securitySchemes: {
      apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: '`gk_<id>_<secret>`' },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: 'gapless_session',
        description:
          'A dashboard session, with the rights of its key. By https its name is `__Host-gapless_session`. A key in `X-Api-Key` takes precedence.',
      },
      portal: {
        type: 'http',
        scheme: 'bearer',
        description: 'The token of a portal session, with the scopes that it was given.',
      },
      csrfToken: {
        type: 'apiKey',
        in: 'header',
        name: 'X-CSRF-Token',
        description: 'The `csrf_token` of the session. Required with the cookie for requests that change something.',
      },
    },
    headers: {
      'X-Request-Id': {
        description: 'Names the request in the log. It is yours if you sent one.',
        schema: { type: 'string' },
      },
      RateLimit: { description: 'The remaining quota, and for how many seconds it lasts.', schema: { type: 'string' } },
      'RateLimit-Policy': {
        description: 'The quota of the key, and its window in seconds.',
        schema: { type: 'string' },
      },
      'X-Oldest-Sequence': { description: 'The seq of the oldest event in the feed.', schema: { type: 'integer' } },
      'X-Head-Sequence': { description: 'The seq of the newest event in the feed.', schema: { type: 'integer' } },
      'Retry-After': { description: 'Seconds to wait before the next try.', schema: { type: 'integer' } },
    },
    parameters: PUSH_PARAMETERS,
    schemas: SCHEMAS,
  },
};

/** The document as it is served and kept in `docs/openapi.json`. */
export const OPENAPI_JSON = `${JSON.stringify(OPENAPI_DOCUMENT, null, 2)}\n`;
