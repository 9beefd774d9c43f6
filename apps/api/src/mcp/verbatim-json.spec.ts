import { describe, expect, it } from '@jest/globals';
import { VerbatimJson } from './verbatim-json.js';

describe('a JSON text in a message', () => {
  it.each(['{"n": 1.0,"big":123456789012345678901234567890}', '{"twice":1,"twice":2}', '{"$&":"$1 $$"}'])(
    'is printed as it is: %s',
    (json) => {
      const verbatim = new VerbatimJson();
      const printed = JSON.stringify({ id: 7, data: verbatim.place(json), more: [verbatim.place('[ ]')] });
      expect(verbatim.restore(printed)).toBe(`{"id":7,"data":${json},"more":[[ ]]}`);
    },
  );

  it('has no line breaks', () => {
    const verbatim = new VerbatimJson();
    const printed = JSON.stringify([verbatim.place('{\r\n"a":\n1\r}')]);
    expect(verbatim.restore(printed)).toBe('[{ "a": 1 }]');
  });

  it('is used once', () => {
    const verbatim = new VerbatimJson();
    const printed = JSON.stringify([verbatim.place('{}')]);
    verbatim.place('1');
    expect(verbatim.restore(printed)).toBe('[{}]');
    expect(verbatim.restore(printed)).toBe(printed);
  });

  it('cannot contain the place of another', () => {
    const verbatim = new VerbatimJson();
    const printed = JSON.stringify([verbatim.place('"00000000-0000-0000-0000-000000000000:1"'), verbatim.place('2')]);
    expect(verbatim.restore(printed)).toBe('["00000000-0000-0000-0000-000000000000:1",2]');
  });
});
