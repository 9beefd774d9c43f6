const transform = {
  '^.+\\.ts$': [
    '@swc/jest',
    {
      jsc: {
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        target: 'es2022',
        keepClassNames: true,
      },
      module: { type: 'es6' },
      sourceMaps: 'inline',
    },
  ],
};

const shared = {
  transform,
  extensionsToTreatAsEsm: ['.ts'],
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Clients of MCP import them. Their own condition `source` leads to TypeScript that no one transforms.
    '^eventsource$': '<rootDir>/node_modules/eventsource/dist/index.js',
    '^eventsource-parser$': '<rootDir>/node_modules/eventsource-parser/dist/index.js',
    '^eventsource-parser/stream$': '<rootDir>/node_modules/eventsource-parser/dist/stream.js',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.data', '<rootDir>/.cache'],
};

// Kafka and Postgres are started once for all integration and end-to-end suites.
const withInfrastructure = {
  ...shared,
  globalSetup: '<rootDir>/test/support/infrastructure/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/infrastructure/global-teardown.ts',
};

export default {
  projects: [
    { ...shared, displayName: 'unit', testMatch: ['<rootDir>/{apps,libs,scripts,test}/**/*.spec.ts'] },
    {
      ...withInfrastructure,
      displayName: 'integration',
      testMatch: ['<rootDir>/{apps,libs}/**/*.ispec.ts', '<rootDir>/test/integration/**/*.ispec.ts'],
    },
    {
      ...withInfrastructure,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/e2e/**/*.e2e.ts'],
      testPathIgnorePatterns: ['<rootDir>/test/e2e/(api|mcp|packages)/'],
    },
    { ...withInfrastructure, displayName: 'clients', testMatch: ['<rootDir>/test/e2e/{api,mcp,packages}/*.e2e.ts'] },
    // `npm run test:containers` starts the containers first, then runs these.
    { ...shared, displayName: 'containers', testMatch: ['<rootDir>/test/containers/**/*.containers.ts'] },
    { ...withInfrastructure, displayName: 'browser', testMatch: ['<rootDir>/test/browser/**/*.browser.ts'] },
  ],
  // Long enough on a machine that is busy with other things.
  testTimeout: 600_000,
};
