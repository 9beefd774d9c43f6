import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from './logger.js';

const SECRET = 'whsec_hunter2';

let lines: string[];

beforeEach(() => {
  lines = [];
});

function aLogger(level = 'info') {
  return createLogger(level, 'test', { write: (line) => lines.push(line) });
}

function told(): Record<string, unknown> {
  return JSON.parse(lines.at(-1)!) as Record<string, unknown>;
}

describe('the log', () => {
  it('is lines of JSON with level, time, app and what happened', () => {
    aLogger().info({ attempt: 1 }, 'delivery.attempted');
    expect(lines).toHaveLength(1);
    expect(told()).toMatchObject({ level: 'info', app: 'test', msg: 'delivery.attempted', attempt: 1 });
    expect(told()['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('has what its level asks for', () => {
    aLogger('warn').info('quiet');
    expect(lines).toEqual([]);
    aLogger('warn').warn('loud');
    expect(lines).toHaveLength(1);
  });

  it.each([
    'secret',
    'api_key',
    'password',
    'authorization',
    'x-api-key',
    'x-service-signature',
    'body',
    'data',
    'envelope',
  ])('redacts every member called %s', (member) => {
    aLogger().info({ [member]: SECRET, inner: { [member]: SECRET } }, 'happened');
    expect(lines.join('')).not.toContain(SECRET);
    expect(told()[member]).toBe('[Redacted]');
  });

  it('redacts what a child logger says with each line', () => {
    aLogger().child({ secret: SECRET, org_id: 'org' }).info('happened');
    expect(told()).toMatchObject({ secret: '[Redacted]', org_id: 'org' });
  });

  it('leaves what it was given as it was', () => {
    const inner = { secret: SECRET };
    aLogger().info({ inner }, 'happened');
    expect(inner.secret).toBe(SECRET);
  });

  it('shows an error and its causes, without the data that they carry', () => {
    const cause = Object.assign(new TypeError('bad'), { code: 'E_BAD', headers: { cookie: SECRET } });
    const failed = Object.assign(new Error('the query failed', { cause }), { query: 'insert', parameters: [SECRET] });
    aLogger().error({ err: failed }, 'failed');
    expect(lines.join('')).not.toContain(SECRET);
    expect(told()['err']).toMatchObject({
      type: 'Error',
      message: 'the query failed',
      stack: expect.stringContaining('logger.spec'),
      cause: { type: 'TypeError', message: 'bad', code: 'E_BAD' },
    });
  });

  it('shows what was thrown even if it is no error', () => {
    aLogger().error({ err: 'text' }, 'failed');
    expect(told()['err']).toMatchObject({ message: 'text' });
  });

  it('ends with causes that go round in a circle', () => {
    const one = new Error('one');
    one.cause = new Error('two', { cause: one });
    aLogger().error({ err: one }, 'failed');
    expect(told()).toMatchObject({ msg: 'failed' });
  });
});
