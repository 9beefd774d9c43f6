import { jest } from '@jest/globals';
import type { QueryRunner } from 'typeorm';

type Query = (
  asked: string | { readonly text: string; readonly values: readonly unknown[] },
  values?: readonly unknown[],
) => Promise<{ readonly rows: readonly unknown[] }>;

/** Calls `act` before each statement of the connection, with its text and parameters, until mocks are restored. */
export async function onStatements(
  runner: QueryRunner,
  act: (query: Query, sql: string, parameters: readonly unknown[]) => Promise<void>,
): Promise<void> {
  const client = (await runner.connect()) as { query: Query };
  // The pool may hand out the same connection again, with the mock of the last time.
  const query = (Object.getPrototypeOf(client) as { query: Query }).query.bind(client);
  jest.spyOn(client, 'query').mockImplementation(async (asked, values) => {
    await (typeof asked === 'string' ? act(query, asked, values ?? []) : act(query, asked.text, asked.values));
    return query(asked, values);
  });
}
