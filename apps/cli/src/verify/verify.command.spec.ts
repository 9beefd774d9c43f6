import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { SEQ_NONE, systemClock, type OrgId } from '#libs/domain';
import { Differences } from './difference.js';
import { notVerified, verifyCommand } from './verify.command.js';

afterEach(() => {
  jest.restoreAllMocks();
});

describe('verify', () => {
  it.each([
    [['--org', 'nobody'], 2],
    [['--nonsense'], 2],
    [['--help'], 0],
  ])('exits on %j with %d', async (args, status) => {
    const exits: unknown[] = [];
    jest.spyOn(process, 'exit').mockImplementation((code) => {
      exits.push(code);
      throw new Error('exited');
    });
    const quiet = { writeOut: () => undefined, writeErr: () => undefined };
    const command = verifyCommand({ clock: systemClock, print: () => undefined }, {}).configureOutput(quiet);
    await expect(command.parseAsync(args, { from: 'user' })).rejects.toThrow('exited');
    expect(exits[0]).toBe(status);
  });

  it('names the differences that it found before it failed', () => {
    const differences = new Differences();
    expect(notVerified(new Error('away'), differences)).toBe('not verified: away');
    const orgId = '0f8fad5b-d9cb-469f-a165-70867728950e' as OrgId;
    differences.add({ kind: 'head', org_id: orgId, head: null, last_seq: SEQ_NONE });
    expect(notVerified(new Error('away'), differences)).toBe(
      `not verified: away\nDifferences until then:\n- org ${orgId}: the feed's head is missing, the log's is 0`,
    );
  });
});
