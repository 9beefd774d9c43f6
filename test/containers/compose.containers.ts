import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { STAGE_NAMES } from '#libs/runtime';
import { ApiClient } from '../support/api-client.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { ComposeProject } from './support/compose-project.js';
import { ComposeReceiver } from './support/compose-receiver.js';

const START_TIMEOUT_MS = 180_000;
/** A killed sequencer's partitions are taken over after its session of 10 s, and Node takes its time on a busy machine. */
const TAKEOVER_TIMEOUT_MS = 90_000;

interface Credentials {
  readonly base_url: string;
  readonly org_id: string;
  readonly api_key: string;
}

/** Reads what `gapless credentials` wrote, in the way of docs/containers.md. */
async function readCredentials(project: ComposeProject): Promise<Credentials> {
  const { stdout } = await project.exec('api', 'cat', '/data/credentials.json');
  return JSON.parse(stdout) as Credentials;
}

async function expectReady(project: ComposeProject, stage: string): Promise<void> {
  await eventually(
    async () => {
      const { status, stdout } = await project.exec(stage, 'gapless-health', 'ready');
      expect({ stage, status, stdout }).toMatchObject({ stage, status: 0, stdout: expect.stringContaining('"ready"') });
    },
    { timeoutMs: START_TIMEOUT_MS, intervalMs: 500 },
  );
}

function ticket(id: string) {
  return { event: 'ticket.created', data: { id, subject: 'Where is my parcel?' } };
}

describe('docker/compose.yaml', () => {
  const project = new ComposeProject();
  let credentials: Credentials;
  let api: ApiClient;

  beforeAll(async () => {
    for (const stage of STAGE_NAMES) await expectReady(project, stage);
    credentials = await readCredentials(project);
    api = new ApiClient(credentials.base_url, credentials.api_key);
  }, START_TIMEOUT_MS);

  describe.each(STAGE_NAMES)('%s', (stage) => {
    it('is healthy by the words of Docker', async () => {
      await eventually(
        async () => {
          const { State } = await project.container(stage);
          expect(State.Health?.Status).toBe('healthy');
        },
        { timeoutMs: 30_000, intervalMs: 500 },
      );
    });

    it('is not root, and cannot become it', async () => {
      const { stdout } = await project.exec(
        stage,
        'bash',
        '-c',
        'grep -E "^(Uid|Gid|CapEff|CapBnd|NoNewPrivs)" /proc/1/status',
      );
      expect(stdout.replaceAll('\t', ' ').trim().split('\n')).toEqual([
        'Uid: 10001 10001 10001 10001',
        'Gid: 10001 10001 10001 10001',
        'CapEff: 0000000000000000',
        'CapBnd: 0000000000000000',
        'NoNewPrivs: 1',
      ]);
    });

    it('can write neither its own code nor its secrets', async () => {
      for (const path of ['/app/package.json', '/usr/local/bin/gapless', '/secrets/database-url', '/etc/passwd']) {
        const { status, stderr } = await project.exec(stage, 'bash', '-c', `echo >> ${path}`);
        expect({ path, status, stderr }).toEqual({
          path,
          status: 1,
          stderr: expect.stringMatching(/Read-only|Permission/),
        });
      }
      const { HostConfig } = await project.container(stage);
      expect(HostConfig.ReadonlyRootfs).toBe(true);
      expect(HostConfig.Memory).toBeGreaterThan(0);
    });
  });

  it('has no secret in its environment', async () => {
    const inspected = JSON.stringify(await project.container('api'));
    expect(inspected).toContain('DATABASE_URL_FILE=/secrets/database-url');
    expect(inspected).not.toMatch(/DATABASE_URL=|SECRET_ENCRYPTION_KEYS=|postgres:\/\//);
  });

  it('serves the dashboard and the description of the API', async () => {
    for (const path of ['/', '/docs', '/openapi.json']) {
      const response = await fetch(`${credentials.base_url}${path}`);
      expect({ path, status: response.status }).toEqual({ path, status: 200 });
    }
  });

  describe('an event', () => {
    let receiver: ComposeReceiver;

    beforeAll(async () => {
      receiver = await ComposeReceiver.start(project);
    }, START_TIMEOUT_MS);

    afterAll(async () => {
      await receiver.stop();
      expect(receiver.printed).toMatch(/Endpoint whe_\w+ is deleted/);
    }, START_TIMEOUT_MS);

    it('goes in by HTTP, and out by push with a signature that verifies and by the feed', async () => {
      const [id] = await api.emit([ticket('tkt_1')]);
      await eventually(() => {
        const line = receiver.printed.split('\n').find((text) => text.includes(id!));
        expect(line).toMatch(/^#\d+ {2}ticket\.created .*attempt 1 .*signature verified ✓/);
      });
      await eventually(async () => {
        expect((await api.feed()).map((envelope) => envelope.id)).toContain(id);
      });
    });

    it(
      'is not lost, whichever stage is restarted or killed meanwhile',
      async () => {
        const before = (await api.feed()).length;
        const ids: string[] = [];
        const emitting = new AbortController();
        const emitted = (async () => {
          while (!emitting.signal.aborted) {
            ids.push(...(await api.emit([ticket(`tkt_${ids.length}`)])));
            await new Promise((resolve) => setImmediate(resolve));
          }
        })();
        for (const stage of STAGE_NAMES.filter((name) => name !== 'api')) {
          const { Id } = await project.container(stage);
          await project.docker('stop', Id);
          const { State } = await project.container(stage);
          // It ended by itself, in order.
          expect({ stage, status: State.Status, code: State.ExitCode }).toEqual({ stage, status: 'exited', code: 0 });
          await project.docker('start', Id);
          await expectReady(project, stage);
        }
        const { Id } = await project.container('sequencer');
        await project.docker('kill', Id);
        await project.docker('start', Id);
        await expectReady(project, 'sequencer');
        emitting.abort();
        await emitted;

        await eventually(
          async () => {
            const feed = await api.feed();
            expect(feed.length).toBe(before + ids.length);
          },
          { timeoutMs: TAKEOVER_TIMEOUT_MS, intervalMs: 500 },
        );
        const feed = await api.feed();
        expect(feed.map(({ seq }) => seq)).toEqual(feed.map((_, index) => index + 1));
        expect(new Set(feed.slice(before).map(({ id }) => id))).toEqual(new Set(ids));
        await eventually(
          () => {
            expect(receiver.seqs.at(-1)).toBe(feed.length);
          },
          { timeoutMs: TAKEOVER_TIMEOUT_MS, intervalMs: 500 },
        );
        const first = receiver.seqs[0]!;
        // Each once, in order, however often it was pushed.
        expect(receiver.seqs).toEqual(Array.from({ length: feed.length - first + 1 }, (_, index) => first + index));
        const { status, stdout } = await project.exec('api', 'gapless', 'verify');
        expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('No differences.') });
      },
      START_TIMEOUT_MS * 2,
    );
  });
});
