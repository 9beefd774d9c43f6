import { parentPort } from 'node:worker_threads';
import { Metrics } from '#libs/telemetry';
import { explain } from '#libs/domain';
import { giveBackMemory, startGaplessApp, type GaplessApp } from '#libs/platform';
import { HealthBoard, untilAborted, type Environment } from '#libs/runtime';
import { stageModules } from './stage-modules.js';
import type { FromStageThread, ToStageThread } from './stage-thread.js';

const modules = stageModules('push');
const stopping = new AbortController();

function send(message: FromStageThread): void {
  parentPort?.postMessage(message);
}

const environment = new Promise<Environment>((resolve, reject) => {
  stopping.signal.addEventListener('abort', () => {
    reject(stopping.signal.reason as Error);
  });
  parentPort?.on('message', (message: ToStageThread) => {
    if (message.kind === 'start') resolve(message.environment);
  });
});

parentPort?.on('message', ({ kind }: ToStageThread) => {
  switch (kind) {
    case 'start':
      return;
    case 'stop':
      stopping.abort(new Error(kind));
      return;
    case 'measure':
      void sendMetrics();
  }
});

let running: GaplessApp | undefined;

async function sendMetrics(): Promise<void> {
  send({ kind: 'metrics', measured: (await running?.app.get(Metrics).measured()) ?? [] });
}

const health = new HealthBoard((parts) => {
  send({ kind: 'health', parts });
});

try {
  running = await startGaplessApp(
    // The main thread serves the public port, so this thread listens on a free one.
    { name: 'push', modules: await modules, defaultPort: 0, health },
    { ...(await environment), HOST: '127.0.0.1', PORT: '0' },
    stopping.signal,
  );
  await giveBackMemory();
  send({ kind: 'ready' });
  await untilAborted(stopping.signal);
  await running.stop();
} catch (error) {
  if (!stopping.signal.aborted) send({ kind: 'failed', reason: explain(error) });
}
process.exit();
