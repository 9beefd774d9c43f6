import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { safely } from './safely.js';

describe('a callback that is called safely', () => {
  const warnings: string[] = [];

  beforeEach(() => {
    warnings.length = 0;
    jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)));
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('gets its arguments', () => {
    const calls: unknown[] = [];
    safely('onError', (...args: unknown[]) => void calls.push(args))(1, 'a');
    expect(calls).toEqual([[1, 'a']]);
  });

  it('may be missing', () => {
    expect(() => {
      safely('onRefused', undefined)();
    }).not.toThrow();
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('log is undefined');
      },
    ],
    ['rejects', () => Promise.reject(new Error('log is undefined'))],
  ])('that %s becomes a warning', async (_, callback) => {
    expect(() => {
      safely('onError', callback)();
    }).not.toThrow();
    await eventually(() => {
      expect(warnings).toEqual([expect.stringContaining('the callback onError failed: Error: log is undefined')]);
    });
  });
});
