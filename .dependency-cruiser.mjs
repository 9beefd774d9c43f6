// The layers of the code: a rank imports its own and lower ranks, libs are entered by their index, apps know no other app.

/** The places of each rank. docs/contribute.md lists them, too. */
export const RANKS = [
  ['libs/domain/src/kernel', 'libs/webhook-signature'],
  ['libs/domain/src/events'],
  ['libs/domain/src/delivery', 'libs/domain/src/sequencing', 'libs/domain/src/alerting', 'libs/domain/src/mcp'],
  ['libs/domain/src/index.ts'],
  ['libs/telemetry'],
  [
    'libs/runtime',
    'libs/event-filter',
    'libs/event-validation',
    'libs/event-types',
    'libs/api-client',
    'libs/destinations',
    'libs/embedded-stack',
  ],
  ['libs/kafka-log', 'libs/postgres', 'libs/consumer', 'libs/producer'],
  ['libs/platform', 'libs/local-installation', 'libs/cli'],
  ['apps'],
];

/** The rooms of large libs, by the same rule. */
export const ROOMS = {
  'embedded-stack': [['processes'], ['servers'], ['kafka-protocol'], ['kafka', 'postgres']],
  'kafka-log': [
    ['topics'],
    ['kafkajs'],
    ['records'],
    ['connection'],
    ['producing', 'reading'],
    ['positions'],
    ['consuming', 'set-up'],
  ],
  postgres: [
    ['entities', 'migrations'],
    ['connection'],
    ['access', 'operations', 'projections'],
    ['deliveries', 'endpoints', 'feed', 'figures', 'live-chat', 'mcp'],
    ['feed-lists', 'orgs'],
  ],
};

const within = (places) => places.map((place) => `^${place}(/|$)`);

const TECHNOLOGIES = [
  { name: 'kafkajs', home: '^libs/(kafka-log|embedded-stack|producer/src/kafka)/' },
  { name: 'typeorm', home: '^libs/(postgres|producer/src/outbox)/' },
  { name: 'undici', home: '^libs/destinations/src/http/' },
  { name: '@marcbachmann/cel-js', home: '^libs/event-filter/' },
  { name: 'nodemailer', home: '^apps/alerting/src/mail/' },
  { name: 'prom-client', home: '^libs/telemetry/' },
  { name: '@opentelemetry', home: '^libs/telemetry/' },
];

export default {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    ...RANKS.slice(0, -1).map((places, rank) => ({
      name: `rank-${rank}-imports-no-higher-rank`,
      severity: 'error',
      from: { path: within(places) },
      to: { path: within(RANKS.slice(rank + 1).flat()) },
    })),
    ...Object.entries(ROOMS).flatMap(([lib, ranks]) => {
      const paths = ranks.map((rooms) => within(rooms.map((room) => `libs/${lib}/src/${room}`)));
      return paths.slice(0, -1).map((path, rank) => ({
        name: `${lib}-rooms-${rank}-import-no-higher-rank`,
        severity: 'error',
        from: { path, pathNot: '\\.i?spec\\.ts$' },
        to: { path: paths.slice(rank + 1).flat() },
      }));
    }),
    {
      name: 'domain-imports-only-the-language',
      severity: 'error',
      from: { path: '^libs/(domain|webhook-signature)/', pathNot: '\\.spec\\.ts$' },
      to: { pathNot: ['^libs/(domain|webhook-signature)/', '^(node:)?crypto$'] },
    },
    {
      name: 'libs-are-entered-by-their-index',
      severity: 'error',
      from: { path: '^(libs|apps)/([^/]+)/' },
      to: {
        path: '^libs/[^/]+/src/',
        // The postgres entry is a subpath of the package.
        pathNot: ['^libs/$2/', '^libs/[^/]+/src/index\\.ts$', '^libs/consumer/src/postgres/index\\.ts$'],
      },
    },
    {
      name: 'apps-know-no-other-app',
      comment: 'The standalone app is made of the modules of the others; it alone puts them together.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/', pathNot: '^apps/standalone/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'the-dashboard-runs-in-a-browser',
      comment: 'It knows the service by its HTTP description alone.',
      severity: 'error',
      from: { path: '^apps/dashboard/src/', pathNot: '\\.spec\\.ts$' },
      to: {
        pathNot:
          '^(apps/dashboard/src/|node_modules/(@base-ui|@tanstack|react|react-dom|scheduler|openapi-fetch|@types/react)(/|$))',
      },
    },
    {
      name: 'standalone-imports-modules-only',
      severity: 'error',
      from: { path: '^apps/standalone/' },
      to: { path: '^apps/', pathNot: ['^apps/standalone/', '\\.module\\.ts$', '^apps/api/src/http/api-http\\.ts$'] },
    },
    {
      name: 'packages-hold-only-what-is-made-for-them',
      comment: 'What they import of other libs becomes part of them.',
      severity: 'error',
      from: { path: '^libs/(consumer|producer|cli|api-client)/', pathNot: '\\.i?spec\\.ts$' },
      to: {
        path: '^(libs|apps)/',
        pathNot: '^libs/(consumer|producer|cli|api-client|event-types|webhook-signature)/',
      },
    },
    ...TECHNOLOGIES.map(({ name, home }) => ({
      name: `only-one-lib-knows-${name}`,
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: [home, '\\.i?spec\\.ts$'] },
      to: { path: `^node_modules/${name}/` },
    })),
    {
      name: 'no-test-code-in-the-product',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '(\\.i?spec\\.ts$|/testing/)' },
      to: { path: '(^test/|/testing/|\\.i?spec\\.ts$)' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'import', 'require', 'node', 'default'],
    },
  },
};
