import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Type } from '@nestjs/common';
import { Store } from '#libs/postgres';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { DispatcherModule } from '../../apps/dispatcher/src/dispatcher.module.js';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { oneTo } from '../support/sequence.js';
import { aStageProcess, type StageProcess } from '../support/stage-process.js';
import { API_HTTP } from '../support/stages.js';

const STAGES: Readonly<Record<string, Type>> = {
  sequencer: SequencerModule,
  dispatcher: DispatcherModule,
};
/** Enough of them to be on every partition. */
const ORGS = 12;
/** The session of a process that is killed is over by then: it lasts 3.5 s. */
const NOTICED_MS = 4_000;
const LONGEST_LOAD_MS = 12_000;
const EVERY_MS = 100;
/** It takes 5 s on a machine that is not busy. With sessions of 10 s, it would take 10 s and more. */
const LONGEST_TAKEOVER_MS = 9_000;
/** What a machine may take that stops processes for seconds meanwhile. */
const LONGEST_ON_A_BUSY_MACHINE_MS = 30_000;

let gapless: GaplessUnderTest;
let receiver: Receiver;
let twins: StageProcess[];

beforeEach(async () => {
  gapless = await aGapless();
  receiver = await aReceiver();
  twins = [];
});

afterEach(async () => {
  await Promise.all(twins.map((twin) => twin.stop()));
  await gapless.stop();
  await receiver.close();
});

describe('a stage that is killed beside its twin', () => {
  it.each(Object.keys(STAGES))('is taken over within seconds: the %s', async (stage) => {
    const others = Object.entries(STAGES).flatMap(([name, module]) => (name === stage ? [] : [module]));
    const app = await gapless.start([ApiModule, ProjectorModule, ...others], { http: API_HTTP });
    twins = await Promise.all([1, 2].map(() => aStageProcess(stage, gapless.environment)));
    await Promise.all(twins.map((twin) => twin.ready()));
    const apis = await Promise.all(
      oneTo(ORGS).map(async () => new ApiClient(app.url, await anApiKey(app.app.get(Store), anOrgId()))),
    );
    for (const api of apis) await api.createWebhook({ url: receiver.url, events: ['ticket.created'] });
    const sentAtMs = new Map<string, number>();
    let longestEmitMs = 0;
    const emit = async (api: ApiClient) => {
      const atMs = Date.now();
      const [id] = await api.emit([{ event: 'ticket.created', data: {} }]);
      longestEmitMs = Math.max(longestEmitMs, Date.now() - atMs);
      if (id !== undefined) sentAtMs.set(id, atMs);
      return id;
    };
    const receivedAtMs = () =>
      new Map(receiver.received.map(({ headers, atMs }) => [String(headers['webhook-id']), atMs]));
    const allReceived = () => {
      expect(receivedAtMs().size).toBe(sentAtMs.size);
    };
    await Promise.all(apis.map(emit));
    await eventually(allReceived);

    const lag = monitorEventLoopDelay();
    lag.enable();
    longestEmitMs = 0;
    const killedAtMs = Date.now();
    twins[0]?.signal('SIGKILL');
    const sentSince = oneTo(ORGS).map(() => new Set<string | undefined>());
    const isTakenOver = () => {
      const received = receivedAtMs();
      return sentSince.every((ids) => [...ids].some((id) => received.has(String(id))));
    };
    for (let turn = 0; Date.now() - killedAtMs < LONGEST_LOAD_MS; turn++) {
      const org = turn % ORGS;
      sentSince[org]!.add(await emit(apis[org]!));
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      if (Date.now() - killedAtMs > NOTICED_MS && isTakenOver()) break;
    }
    await eventually(allReceived);
    lag.disable();
    const received = receivedAtMs();
    const since = [...sentAtMs].filter(([, atMs]) => atMs >= killedAtMs);
    const slowestMs = Math.max(...since.map(([id, atMs]) => (received.get(id) ?? Infinity) - atMs));
    // How long this process stood still, and what else it waited for, shows how busy the machine was.
    const busyMs = 2 * Math.max(lag.max / 1e6, longestEmitMs);
    expect(slowestMs).toBeLessThan(Math.min(LONGEST_TAKEOVER_MS + busyMs, LONGEST_ON_A_BUSY_MACHINE_MS));
  });
});
