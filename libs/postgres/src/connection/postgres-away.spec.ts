import { expect, it } from '@jest/globals';
import { isPostgresAway } from './postgres-away.js';

it.each(['25P03', '25P04'])('a connection that the server ended for its transaction cannot be used: %s', (code) => {
  expect(isPostgresAway(Object.assign(new Error('terminating connection'), { code }))).toBe(true);
});

it('a statement that fails in a transaction leaves its connection', () => {
  expect(isPostgresAway(Object.assign(new Error('in a failed transaction'), { code: '25P02' }))).toBe(false);
});
