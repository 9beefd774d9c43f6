import { mkdir, mkdtemp, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { messageOf } from '#libs/domain';
import { ConfigError, loadConfig, type Environment } from '#libs/runtime';
import { isGiven } from './is-given.js';
import { assertPortFree } from './port-to-take.js';

/** A key in the form of the one that is made later. */
const SOME_KEY = `embedded:${Buffer.alloc(32, 1).toString('base64')}`;

/**
 * Checks the settings, the data directory and the port before the servers start, so that a mistake ends the start at
 * once. Makes the data directory.
 * @throws ConfigError with every problem at once; ListenError
 */
export async function checkStart(environment: Environment, dataDir: string): Promise<void> {
  const usesOwnServers = !isGiven(environment, 'KAFKA_BROKERS') || !isGiven(environment, 'DATABASE_URL');
  const problems = [
    ...settingProblems(usesOwnServers ? withGivenLater(environment) : environment),
    ...(usesOwnServers ? await dataDirProblems(dataDir) : []),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  await assertPortFree(environment);
}

/** Adds what the embedded servers give later, in the form of the real values. */
function withGivenLater(environment: Environment): Environment {
  return {
    SECRET_ENCRYPTION_KEYS: SOME_KEY,
    ...environment,
    ...(isGiven(environment, 'KAFKA_BROKERS') ? {} : { KAFKA_BROKERS: '127.0.0.1:9092' }),
    ...(isGiven(environment, 'DATABASE_URL') ? {} : { DATABASE_URL: 'postgresql://127.0.0.1/gapless' }),
  };
}

function settingProblems(environment: Environment): readonly string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

async function dataDirProblems(dataDir: string): Promise<readonly string[]> {
  // Kafka takes a list of folders.
  if (dataDir.includes(',')) return [`DATA_DIR: ${dataDir} must not have a comma`];
  try {
    await makeDirectory(resolve(dataDir));
    // Permissions alone do not say it: some file systems refuse whatever they show.
    await rmdir(await mkdtemp(join(dataDir, '.check-')));
    return [];
  } catch (error) {
    return [`DATA_DIR: ${dataDir} cannot hold data (${messageOf(error)}); name a folder that you may write to`];
  }
}

/** Each folder by itself: Node makes all of a path in one call, which does not end where folders cannot be made. */
async function makeDirectory(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  });
  if (found?.isDirectory() === true) return;
  if (found !== null) throw new Error('it is a file');
  await makeDirectory(dirname(path));
  await mkdir(path).catch((error: unknown) => {
    // Another process has made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}
