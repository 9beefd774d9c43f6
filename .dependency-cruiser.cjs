// The layers of the code: rank n imports only lower ranks, libs are entered by their index, apps know no other app.
const RANKS = [
  ['^libs/domain/src/kernel/', '^libs/webhook-signature/'],
  ['^libs/domain/src/events/'],
  ['^libs/domain/src/(delivery|sequencing)/'],
  ['^libs/domain/src/index\\.ts$'],
  ['^libs/(runtime|metrics|tracing|event-validation|webhook-transport|http-problems|embedded-stack)/'],
  ['^libs/kafka-log/', '^libs/feed-store/'],
  ['^libs/platform/'],
  ['^apps/'],
];

const TECHNOLOGIES = [
  { name: 'kafkajs', home: '^libs/(kafka-log|embedded-stack)/' },
  { name: 'typeorm', home: '^libs/feed-store/' },
  { name: 'undici', home: '^libs/webhook-transport/' },
  { name: 'prom-client', home: '^libs/metrics/' },
  { name: '@opentelemetry', home: '^libs/tracing/' },
];

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    ...RANKS.slice(0, -1).map((places, rank) => ({
      name: `rank-${rank}-imports-only-lower-ranks`,
      severity: 'error',
      from: { path: places },
      to: { path: RANKS.slice(rank + 1).flat() },
    })),
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
      to: { path: '^libs/[^/]+/src/', pathNot: ['^libs/$2/', '^libs/[^/]+/src/index\\.ts$'] },
    },
    {
      name: 'apps-know-no-other-app',
      comment: 'The standalone app is made of the modules of the others; it alone puts them together.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/', pathNot: '^apps/standalone/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'standalone-imports-modules-only',
      severity: 'error',
      from: { path: '^apps/standalone/' },
      to: { path: '^apps/', pathNot: ['^apps/standalone/', '\\.module\\.ts$', '^apps/api/src/http/api-http\\.ts$'] },
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
