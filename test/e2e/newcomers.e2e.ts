import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { ROOT } from '../support/root.js';
import { aStageProcess } from '../support/stage-process.js';
import { aStore } from '../support/store.js';

// What docs/contribute.md says about a new stage and a new destination, followed in a copy of the tree.

const DESTINATION = `
import { appendFileSync } from 'node:fs';
import type { DestinationKind } from '../destination-kind.js';

export const toy: DestinationKind = {
  schemes: ['toy:'],
  urlCheck: () => () => Promise.resolve({ ok: true }),
  open: ({ clock }) => ({
    attempt({ envelope }, { url }) {
      appendFileSync(url.slice('toy:'.length), envelope);
      const response = { code: 7, excerpt: 'written' };
      return Promise.resolve({ startedAtMs: clock.now(), durationMs: 0, response, error: null, attributes: {} });
    },
    close: () => Promise.resolve(),
  }),
  sentRequest: () => null,
};
`;

const STAGE = {
  'main.ts': `
import { runGaplessApp } from '#libs/platform';
import { STAGES } from '#libs/runtime';
import { ToyModule } from './toy.module.js';

await runGaplessApp({ name: 'toy', modules: [ToyModule], defaultPort: STAGES.toy.port });
`,
  'toy.module.ts': `
import { Controller, Inject, Module } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { KafkaBatches, readLogRecord, type RecordBatch } from '#libs/kafka-log';
import { LOGGER } from '#libs/platform';
import type { Logger } from '#libs/runtime';

@Controller()
class ReadLogHandler {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  @KafkaBatches({ group: 'toy', topics: (names) => [names.log] })
  handle(@Payload() { records }: RecordBatch): Promise<undefined> {
    for (const record of records) this.logger.info({ event_id: readLogRecord(record).id }, 'toy.read');
    return Promise.resolve(undefined);
  }
}

@Module({ controllers: [ReadLogHandler] })
export class ToyModule {}
`,
};

const STAGE_LINE = `
  toy: { port: 3006, thread: 'push', consumers: { toy: ['log'] }, writes: [], answers: '', howMany: '' },`;

let gapless: GaplessUnderTest;
let tree: string;

beforeEach(async () => {
  gapless = await aGapless();
  tree = mkdtempSync(join(tmpdir(), 'gapless-newcomers-'));
});

afterEach(async () => {
  await gapless.stop();
  rmSync(tree, { recursive: true });
});

function write(folder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(tree, folder), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(tree, folder, name), text);
}

function edit(file: string, before: string, after: string): void {
  const text = readFileSync(join(tree, file), 'utf8');
  expect(text).toContain(before);
  writeFileSync(join(tree, file), text.replace(before, after));
}

it('a stage and a destination are a folder and a line each', async () => {
  for (const name of ['apps', 'libs', 'dist', 'package.json', 'tsconfig.json', 'tsconfig.build.json']) {
    // Another suite may be writing packages.
    const filter = (source: string) => source !== join(ROOT, 'dist/packages');
    cpSync(join(ROOT, name), join(tree, name), { recursive: true, preserveTimestamps: true, filter });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  write('libs/destinations/src/toy', { 'toy.ts': DESTINATION });
  edit('libs/destinations/src/destination-kinds.ts', '= [http]', '= [http, toy]');
  edit('libs/destinations/src/destination-kinds.ts', 'import', `import { toy } from './toy/toy.js';\nimport`);
  write('apps/toy/src', STAGE);
  edit('libs/runtime/src/stages.ts', 'export const STAGES = {', `export const STAGES = {${STAGE_LINE}`);
  await promisify(execFile)(
    process.execPath,
    ['node_modules/typescript-compiler/bin/tsc', '-p', 'tsconfig.build.json'],
    {
      cwd: tree,
    },
  );

  const running = await aStageProcess('standalone', gapless.environment, { root: tree });
  try {
    await running.ready();
    const store = aStore(gapless.environment['DATABASE_URL'] ?? '');
    await store.open(() => undefined);
    const api = new ApiClient(running.url, await anApiKey(store, anOrgId()));
    await store.close();
    const received = join(tree, 'received');
    const { id } = await api.createWebhook({ url: `toy:${received}`, events: ['ticket.created'] });
    const [eventId] = await api.emit([{ event: 'ticket.created', data: {} }]);
    await eventually(async () => {
      const { text } = await api.request('GET', `/external/webhooks/${id}/deliveries`);
      expect(JSON.parse(text)).toMatchObject({
        data: [{ event_id: eventId, status: 'delivered', response_status: 7 }],
      });
    });
    expect(JSON.parse(readFileSync(received, 'utf8'))).toMatchObject({ id: eventId, event: 'ticket.created' });
    await eventually(() => {
      expect(running.log).toContainEqual(expect.objectContaining({ msg: 'toy.read', event_id: eventId }));
    });
  } finally {
    await running.stop();
  }
}, 480_000);
