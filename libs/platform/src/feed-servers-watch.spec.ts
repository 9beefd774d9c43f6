import { afterEach, expect, it, jest } from '@jest/globals';
import { MigrationUnderWayError, PostgresProbe, type FeedServer, type ProbedPlace } from '#libs/postgres';
import { createLogger, HealthBoard } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { FeedServersWatch } from './feed-servers-watch.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it.each([false, true])(
  'a database that the feed leaves while it is asked is not shown: read-only %s',
  async (readOnly) => {
    jest.spyOn(PostgresProbe.prototype, 'ask').mockResolvedValue({ is_read_only: readOnly } as ProbedPlace);
    const store = { databaseUrl: 'postgres://gapless@127.0.0.1:1/gapless' };
    const server = { place: 1, name: 'db-2', store } as FeedServer;
    const health = new HealthBoard();
    const back = jest.fn();
    let others = [server];
    let leave: () => void = () => undefined;
    const feed = {
      get others() {
        return others;
      },
      onChange: (listener: () => void) => (leave = listener),
      hasJoined: () => true,
      back,
    };
    const places = {
      checkMain: () => Promise.resolve(),
      join: () => Promise.resolve(true),
      checkJoined: () => {
        others = [];
        leave();
        return Promise.resolve();
      },
    };
    const watch = new FeedServersWatch(
      createLogger('silent', 'test'),
      { feed } as never,
      places as never,
      { adopt: () => Promise.resolve() } as never,
      health,
      new Metrics(),
    );
    await watch.join(true, new AbortController().signal);
    expect(health.parts()).toEqual({ 'feed database db-2': { status: 'ready' } });
    back.mockClear();
    await (watch as unknown as { act(): Promise<void> }).act();
    expect([health.parts(), back.mock.calls]).toEqual([{}, []]);
  },
);

it('is not ready while another process migrates a database, and does not take it for away', async () => {
  const store = { databaseUrl: 'postgres://gapless@127.0.0.1:1/gapless' };
  const server = { place: 1, name: 'db-2', store } as FeedServer;
  const health = new HealthBoard();
  const away = jest.fn();
  const feed = { others: [server], onChange: () => undefined, hasJoined: () => false, back: jest.fn(), away };
  const join = jest
    .fn<() => Promise<boolean>>()
    .mockRejectedValueOnce(new MigrationUnderWayError('db-2'))
    .mockImplementationOnce(() => {
      expect(health.parts()).toEqual({
        'feed database db-2': { status: 'waiting', reason: expect.stringContaining('is migrating the schema of db-2') },
      });
      return Promise.resolve(true);
    });
  const watch = new FeedServersWatch(
    createLogger('silent', 'test'),
    { feed } as never,
    { checkMain: () => Promise.resolve(), join } as never,
    { adopt: () => Promise.resolve() } as never,
    health,
    new Metrics(),
  );
  await watch.join(true, new AbortController().signal);
  expect(join).toHaveBeenCalledTimes(2);
  expect([health.parts(), away.mock.calls]).toEqual([{ 'feed database db-2': { status: 'ready' } }, []]);
});
