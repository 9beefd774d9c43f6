import { explain } from '#libs/domain';
import { HealthBoard, stopSignal } from '#libs/runtime';
import { checkStart } from './check-start.js';
import { dataDirOf } from './data-dir.js';
import { runServers } from './run-servers.js';
import { StageThread } from './stage-thread.js';
import { startServers, type Server } from './start-servers.js';

const signal = stopSignal();
const dataDir = dataDirOf(process.env);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function run(servers: Server[]): Promise<void> {
  await checkStart(process.env, dataDir);
  print(`Gapless is starting; its data is in ${dataDir}`);
  const started = startServers({ servers, dataDir, print, signal });
  if (process.argv[2] === 'servers') {
    await runServers(await started, { servers, dataDir, print, signal });
    return;
  }
  // The stages load while the servers start, because both take long.
  const health = new HealthBoard();
  const pushing = new StageThread(health);
  try {
    const [given, { runStages }] = await Promise.all([started, import('./run-stages.js')]);
    await runStages(given, { servers, health, pushing, dataDir, print, signal });
  } finally {
    await pushing.stop();
  }
}

const servers: Server[] = [];
try {
  await run(servers);
} catch (error) {
  if (!signal.aborted) {
    process.stderr.write(`gapless: ${explain(error)}\n`);
    process.exitCode = 1;
  }
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  print('Gapless has stopped.');
}
process.exit();
