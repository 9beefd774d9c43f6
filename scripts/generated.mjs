import { join } from 'node:path';

const built = (path, ...args) => [join('dist', path), ...args];

/** The files that are written from other sources, in an order in which each finds what it needs. Node runs all. */
export const GENERATED = [
  {
    name: 'event-types',
    args: built('libs/event-types/src/writing/write-event-types.js', 'libs/event-types/src/event-data.ts'),
  },
  { name: 'schemas', args: built('libs/event-validation/src/schemas/write-schemas.js', 'schemas'), hasCheck: true },
  { name: 'openapi', args: built('apps/api/src/openapi/write-openapi.js', 'docs/openapi.json'), hasCheck: true },
  { name: 'asyncapi', args: built('apps/api/src/asyncapi/write-asyncapi.js', 'docs/asyncapi.json'), hasCheck: true },
  {
    name: 'client',
    args: [
      'node_modules/openapi-typescript/bin/cli.js',
      'docs/openapi.json',
      '-o',
      'apps/dashboard/src/api/schema.d.ts',
    ],
    hasCheck: true,
  },
  { name: 'vectors', args: built('test/vectors/write-signature-vectors.js', 'test/vectors/signatures.json') },
  { name: 'deployment', args: built('apps/cli/src/deployment/write-deployment-files.js') },
  { name: 'docs', args: built('apps/cli/src/docs/write-reference-tables.js') },
];
