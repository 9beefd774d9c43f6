import { describe, expect, it } from '@jest/globals';
import { installationIn } from './installation-topic.js';

describe('a record of the installation topic', () => {
  it('is an installation if its value is one with the id of its key', () => {
    const text = JSON.stringify({ id: 'one' });
    expect(installationIn('one', Buffer.from(text))).toEqual({ id: 'one' });
    for (const junk of [
      text.replace('one', 'other'),
      'junk',
      '',
      'null',
      '1',
      '[]',
      '{}',
      '{"__proto__":1}',
      '\u0000',
    ]) {
      expect(installationIn('one', Buffer.from(junk))).toBeUndefined();
    }
  });
});
