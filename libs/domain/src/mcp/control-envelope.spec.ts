import { describe, expect, it } from '@jest/globals';
import { coversCallback, echoedChallenge } from './control-envelope.js';

describe('the answer to a challenge', () => {
  it('echoes it in a member', () => {
    expect(echoedChallenge('{"challenge":"x"}')).toBe('x');
  });

  it.each(['', 'x', '"x"', 'null', '{}', '{"challenge":1}', `{${' '.repeat(2_000)}"challenge":"x"}`])(
    'echoes nothing in %j',
    (answer) => {
      expect(echoedChallenge(answer)).toBeUndefined();
    },
  );
});

describe('a well-known document', () => {
  const covers = (receivers: unknown, path = '/hooks/one') =>
    coversCallback(JSON.stringify({ receivers }), new URL(path, 'https://a.example'));

  it('covers urls under its prefixes', () => {
    for (const prefix of ['/', '/hooks', '/hooks/', '/hooks/one'])
      expect([prefix, covers([prefix])]).toEqual([prefix, true]);
  });

  it('covers no others', () => {
    for (const receivers of [[], ['/hook'], ['/hooks/on'], ['/hooks/one/'], ['hooks'], [''], [1], '/', null]) {
      expect([receivers, covers(receivers)]).toEqual([receivers, false]);
    }
    expect(covers(['/hooks/'], '/hooks/../admin')).toBe(false);
    expect(coversCallback('<html>', new URL('https://a.example/'))).toBe(false);
  });
});
