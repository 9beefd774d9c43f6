import { embeddedEnvironment } from '#libs/local-installation';
import type { Environment } from '#libs/runtime';
import { portToTake } from './port-to-take.js';

/**
 * Returns the settings of stages with an embedded server.
 * @param named the settings that the user has set; `given` adds the addresses of the embedded servers
 */
export async function stageEnvironment(named: Environment, given: Environment, dataDir: string): Promise<Environment> {
  return { ...(await embeddedEnvironment(named, dataDir)), ...given, PORT: await portToTake(given) };
}
