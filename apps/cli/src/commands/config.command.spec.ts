import { beforeEach, describe, expect, it } from '@jest/globals';
import { SETTINGS, type Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { configCommand } from './config.command.js';

const VALID = {
  DATABASE_URL: 'postgres://gapless:hunter2@db.example.com/gapless',
  KAFKA_BROKERS: 'kafka-1:9092',
  SECRET_ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
};

let printed: string[];

beforeEach(() => {
  printed = [];
});

async function check(environment: Environment, ...flags: readonly string[]): Promise<void> {
  const command = configCommand({ environment, print: (line) => printed.push(line) });
  await command.exitOverride().parseAsync(['check', ...flags], { from: 'user' });
}

describe('config check', () => {
  it('prints every setting with its source, and secrets as set', async () => {
    await check({ ...VALID, LOG_LEVEL: 'debug' });
    expect(printed.map((line) => line.split(' ', 1)[0])).toEqual(Object.values(SETTINGS).map(({ name }) => name));
    const text = printed.join('\n');
    expect(text).toMatch(/^DATABASE_URL +environment +set$/m);
    expect(text).toMatch(/^SECRET_ENCRYPTION_KEYS +environment +set$/m);
    expect(text).toMatch(/^LOG_LEVEL +environment +debug$/m);
    expect(text).toMatch(/^RETENTION +default +30d$/m);
    expect(text).toMatch(/^SMTP_URL +default +unset$/m);
    expect(text).not.toMatch(/hunter2|BwcHBw/);
  });

  it('fails with every problem, and still prints every setting', async () => {
    const failed = check({ ...VALID, KAFKA_BROKERS: '', PORT: '-1', SECRET_ENCRYPTION_KEYS: 'k1:hunter2' });
    await expect(failed).rejects.toThrow(CliError);
    await expect(failed).rejects.toThrow(/KAFKA_BROKERS is not set[^]*PORT=-1[^]*SECRET_ENCRYPTION_KEYS=…: expected/);
    expect(printed).toHaveLength(Object.keys(SETTINGS).length);
    expect(printed.join('\n')).toMatch(/^PORT +problem +-1$/m);
    expect(printed.join('\n')).not.toContain('hunter2');
  });

  it.each([
    { DENIED_NETWORKS: '10.0.0.0/33' },
    { ALLOWED_PORTS: '443,70000' },
    { KAFKA_TLS: 'true', KAFKA_CA_FILE: '/missing/ca.pem' },
  ])('names what would end a stage later: %j', async (environment) => {
    const [name, text] = Object.entries(environment).at(-1)!;
    await expect(check({ ...VALID, ...environment })).rejects.toThrow(`${name}=${text}: expected`);
  });

  it('prints JSON', async () => {
    await check(VALID, '--json');
    expect(JSON.parse(printed[0]!)).toMatchObject({ problems: [], settings: expect.any(Array) });
  });
});
