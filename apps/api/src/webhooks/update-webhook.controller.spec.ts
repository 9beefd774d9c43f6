import { beforeEach, describe, expect, it } from '@jest/globals';
import { GaplessError, type EndpointId } from '#libs/domain';
import { topicNames } from '#libs/kafka-log';
import { commitError, type AuditActor, type EndpointRecords, type SigningKeys } from '#libs/postgres';
import { FakeAppender } from '../../../../test/support/fake-appender.js';
import { anOrgId } from '../../../../test/support/ids.js';
import type { EndpointUrlCheck } from './endpoint-url-check.js';
import type { LogMoments } from './log-moments.js';
import { UpdateWebhookController } from './update-webhook.controller.js';

const [orgId, id] = [anOrgId(), 'whe_1' as EndpointId];
const lost = new Error('Connection terminated unexpectedly');
/** What the driver says of a connection that was lost before the statement. */
const released = Object.assign(new Error('released'), { name: 'QueryRunnerAlreadyReleasedError' });

let log: FakeAppender;

beforeEach(() => {
  log = new FakeAppender();
});

/** Disables an endpoint. @param commit ends the transaction, after the fact */
async function disable(commit: () => Promise<unknown>, lockEndpoint = () => Promise.resolve()) {
  const records = {
    find: () => Promise.resolve({}),
    by: () => records,
    update: async (...[, , , , beforeCommit]: Parameters<EndpointRecords['update']>) => {
      await lockEndpoint();
      await beforeCommit({ activation: 1 } as Parameters<typeof beforeCommit>[0]);
      return commit();
    },
  };
  const controller = new UpdateWebhookController(
    records as unknown as EndpointRecords,
    { checkAll: () => Promise.resolve() } as unknown as EndpointUrlCheck,
    { endOf: () => Promise.resolve(7) } as unknown as LogMoments,
    {} as SigningKeys,
    log.asAppender,
    topicNames('gapless', []),
    { now: () => 0 },
  );
  return controller.update(orgId, id, { is_active: false }, {} as AuditActor);
}

describe('disabling an endpoint whose transaction does not end', () => {
  it.each([
    ['was not confirmed', commitError(lost) as Error],
    ['was not sent', released],
  ])('says that it is not known, if the fact is in the log and the commit %s', async (_what, error) => {
    await expect(disable(() => Promise.reject(error))).rejects.toMatchObject({
      code: 'unavailable',
      detail: expect.stringMatching(/not known whether the endpoint is disabled.*may have ended/),
      cause: error,
    });
    expect(log.records).toHaveLength(1);
  });

  it('says so if the log did not confirm the fact either', async () => {
    log.failures = 1;
    const refusal = { code: 'unavailable', detail: expect.stringMatching(/not known/) };
    await expect(disable(() => Promise.reject(released))).rejects.toMatchObject(refusal);
  });

  it('leaves other errors as they are', async () => {
    const before = disable(
      () => Promise.resolve(undefined),
      () => Promise.reject(released),
    );
    await expect(before).rejects.toBe(released);
    expect(log.records).toEqual([]);
    const broken = new GaplessError('validation_failed', 'no');
    await expect(disable(() => Promise.reject(broken))).rejects.toBe(broken);
  });
});
