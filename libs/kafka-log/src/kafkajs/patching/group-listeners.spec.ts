import { expect, it } from '@jest/globals';
import { forgetListeners, GroupListeners } from './group-listeners.js';

it('knows the listeners of each group until they are removed', () => {
  const listeners = new GroupListeners<string>();
  const removeFirst = listeners.add('a group', 'first');
  listeners.add('a group', 'second');
  listeners.add('another', 'third');
  expect(listeners.of('a group')).toEqual(['first', 'second']);
  removeFirst();
  expect([listeners.of('a group'), listeners.of('another'), listeners.of('none')]).toEqual([['second'], ['third'], []]);
});

it('removes a listener once', () => {
  const listeners = new GroupListeners<string>();
  const remove = listeners.add('a group', 'first');
  remove();
  listeners.add('a group', 'second');
  // Again, as nobody should.
  remove();
  expect(listeners.of('a group')).toEqual(['second']);
});

it('forgets those of all kinds together', () => {
  const [some, others] = [new GroupListeners<string>(), new GroupListeners<number>()];
  some.add('a group', 'first');
  others.add('a group', 1);
  forgetListeners();
  expect([some.of('a group'), others.of('a group')]).toEqual([[], []]);
});
