import type {} from './global-setup.js';

/** Stops what the global set-up started, and removes its data. */
export default async function tearDown(): Promise<void> {
  const servers = globalThis.gaplessTestServers;
  globalThis.gaplessTestServers = undefined;
  await (await servers)?.stop();
}
