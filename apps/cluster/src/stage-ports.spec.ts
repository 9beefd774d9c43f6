import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { findPorts, usualPorts } from './stage-ports.js';

describe('the ports of a set', () => {
  it('are the usual ones of the stages, and ten above them for the second set', () => {
    expect(usualPorts(3000, 1)).toEqual({
      api: 3000,
      sequencer: 3001,
      dispatcher: 3003,
      projector: 3004,
      alerting: 3005,
    });
    expect(usualPorts(3000, 2)).toMatchObject({ api: 3010, alerting: 3015 });
  });

  it('are others where they are taken, and never the same twice', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port: taken } = server.address() as AddressInfo;
    try {
      const spokenFor = new Set<number>();
      const first = await findPorts(taken, 1, spokenFor);
      const second = await findPorts(taken, 1, spokenFor);
      expect(first.api).not.toBe(taken);
      expect(new Set([...Object.values(first), ...Object.values(second)]).size).toBe(10);
    } finally {
      server.close();
    }
  });
});
