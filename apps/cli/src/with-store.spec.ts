import { describe, expect, it } from '@jest/globals';
import { CliError } from './cli-error.js';
import { explainedFailure } from './with-store.js';

describe('a failure of the database', () => {
  it('is called a slow statement if its time was over', () => {
    const failure = explainedFailure(new Error('Query read timeout'), 600_000);
    expect(failure).toBeInstanceOf(CliError);
    expect((failure as CliError).message).toContain('a statement took longer than its limit of 600 s');
  });

  it('is called one of the connection otherwise', () => {
    const failure = explainedFailure(new Error('Connection terminated unexpectedly'), 600_000);
    expect((failure as CliError).message).toContain('the database cannot be reached: Error: Connection terminated');
  });

  it('stays as it is if the database refused the statement', () => {
    const error = new Error('syntax error');
    expect(explainedFailure(error, undefined)).toBe(error);
  });

  it('names what to do when a table is gone', () => {
    const error = Object.assign(new Error('relation "public.events" does not exist'), { code: '42P01' });
    expect(String(explainedFailure(error, undefined))).toMatch(
      /public\.events.*"A table is gone" in docs\/operate\.md/,
    );
  });
});
