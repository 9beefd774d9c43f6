import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { findPostgresBinaries } from './postgres-binaries.js';

const { platform } = process;

afterEach(() => {
  jest.restoreAllMocks();
  Object.defineProperty(process, 'platform', { value: platform });
});

describe('findPostgresBinaries', () => {
  it('says that there are none for a Linux without glibc, such as Alpine', () => {
    Object.defineProperty(process, 'platform', { value: 'linux' });
    jest.spyOn(process.report, 'getReport').mockReturnValue({ header: {} });
    expect(findPostgresBinaries).toThrow(
      /^There are no embedded Postgres binaries .* needs glibc\). Set DATABASE_URL to a Postgres of your own\.$/,
    );
  });
});
