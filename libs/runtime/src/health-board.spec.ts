import { describe, expect, it } from '@jest/globals';
import { HealthBoard } from './health-board.js';

describe('HealthBoard', () => {
  it('is ready when every part is', () => {
    const board = new HealthBoard();
    board.waiting('kafka', 'starting');
    board.waiting('postgres', 'starting');
    board.ready('kafka');
    expect(board.isReady).toBe(false);
    board.ready('postgres');
    expect(board.isReady).toBe(true);
  });

  it('is not ready any more when a part waits again, and says why', () => {
    const board = new HealthBoard();
    board.ready('kafka');
    board.ready('postgres');
    board.waiting('postgres', 'connection refused');
    expect(board.isReady).toBe(false);
    expect(board.parts()).toEqual({
      kafka: { status: 'ready' },
      postgres: { status: 'waiting', reason: 'connection refused' },
    });
  });

  it('is not ready any more once the process ends, whatever its parts say', () => {
    const board = new HealthBoard();
    board.ready('kafka');
    board.ending();
    board.ready('postgres');
    expect(board.isReady).toBe(false);
    expect(board.parts()['process']).toEqual({ status: 'waiting', reason: 'stopping' });
  });

  it('stays ready for the rest while some of the work waits', () => {
    const board = new HealthBoard();
    board.ready('postgres');
    board.degraded('feed database db-2', 'connection refused');
    expect(board.isReady).toBe(true);
    expect(board.parts()['feed database db-2']).toEqual({ status: 'degraded', reason: 'connection refused' });
  });

  it('is held up no longer by a part that is forgotten', () => {
    const board = new HealthBoard();
    board.waiting('partition 3', 'restoring');
    board.forget('partition 3');
    expect(board.isReady).toBe(true);
    expect(board.parts()).toEqual({});
  });

  it('shows what another board shows, each time in place of what that showed before', () => {
    const board = new HealthBoard();
    const other = new HealthBoard((parts) => {
      board.include('push', parts);
    });
    board.ready('kafka');
    other.waiting('kafka', 'connecting');
    other.waiting('partition 3', 'restoring');
    expect(board.isReady).toBe(false);
    other.ready('kafka');
    other.forget('partition 3');
    expect(board.parts()).toEqual({ kafka: { status: 'ready' }, 'push/kafka': { status: 'ready' } });
  });
});
