import { randomBytes } from 'node:crypto';
import Module from 'node:module';
import { resolve } from 'node:path';
import type { TestServers } from './test-servers.js';

declare global {
  var gaplessTestServers: Promise<TestServers> | undefined;
}

/**
 * Starts Kafka and Postgres once for all suites that need them (see `startTestServers`), and sets for the suites:
 * `TEST_DATABASE_URLS` (of accounts that may create databases, one for each server), `TEST_KAFKA_BROKERS`, and `TEST_RUN_ID`, which
 * keeps the databases of different runs on the same server apart.
 */
export default async function setUp(): Promise<void> {
  resolveSources();
  process.env['TEST_RUN_ID'] ??= randomBytes(4).toString('hex');
  globalThis.gaplessTestServers ??= import('./test-servers.js').then((module) => module.startTestServers(process.env));
  const servers = await globalThis.gaplessTestServers;
  process.env['TEST_DATABASE_URLS'] = servers.databaseUrls.join();
  process.env['TEST_KAFKA_BROKERS'] = servers.brokers;
}

type ResolveFilename = (request: string, ...rest: unknown[]) => string;

/**
 * Jest loads its global set-up by `require`, where `./x.js` means just that and `#libs/x` means what was built. In our
 * sources they mean `./x.ts` and `libs/x/src`; with this they do here as well.
 */
function resolveSources(): void {
  const loader = Module as unknown as { _resolveFilename: ResolveFilename };
  const original = loader._resolveFilename;
  loader._resolveFilename = (request, ...rest) => {
    const lib = /^#libs\/(.+)$/.exec(request)?.[1];
    if (lib !== undefined) return resolve(import.meta.dirname, `../../../libs/${lib}/src/index.ts`);
    try {
      return original.call(Module, request, ...rest);
    } catch (error) {
      if (!/^\.{1,2}\/.*\.js$/.test(request)) throw error;
      return original.call(Module, request.replace(/js$/, 'ts'), ...rest);
    }
  };
}
