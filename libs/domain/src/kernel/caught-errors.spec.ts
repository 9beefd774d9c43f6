import { expect, it } from '@jest/globals';
import { errorCode, messageOf } from './caught-errors.js';

it.each([
  [new Error('no answer'), 'no answer'],
  [new AggregateError([new Error('no answer')]), 'AggregateError'],
  ['a text', 'a text'],
  [undefined, 'undefined'],
])('the message of %p is %s', (error, message) => {
  expect(messageOf(error)).toBe(message);
});

it.each([
  [Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  [Object.assign(new Error('refused'), { code: 7 }), ''],
  [new Error('refused'), ''],
  [null, ''],
])('the code of %p is %p', (error, code) => {
  expect(errorCode(error)).toBe(code);
});
