import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { IsInt } from 'class-validator';
import { GaplessError } from '#libs/domain';
import { Checked } from './checked.decorator.js';
import { readDto } from './json-body.decorator.js';

class Note {
  @Checked({
    schema: { type: 'string' },
    check: (value) => (value === 'ok' ? [] : [{ pointer: '/0', code: 'not_allowed', detail: 'must be ok' }]),
  })
  readonly text!: string;

  @IsInt()
  readonly count!: number;
}

function refusal(body: string | Buffer, dto: Type<object> = Note): GaplessError {
  try {
    readDto(Buffer.from(body), dto);
  } catch (error) {
    if (error instanceof GaplessError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('a JSON body', () => {
  it('becomes an instance of its DTO', () => {
    const note = readDto(Buffer.from('{"text":"ok","count":1}'), Note);
    expect(note).toBeInstanceOf(Note);
    expect(Object.fromEntries(Object.entries(note))).toEqual({ text: 'ok', count: 1 });
  });

  it.each(['', '{', '{"text":"ok",}', "{'text':1}", '\ufeff{"text":"ok","count":1}', Buffer.from([0x22, 0xff, 0x22])])(
    'that cannot be read is malformed: %p',
    (body) => {
      expect(refusal(body).code).toBe('malformed_request');
    },
  );

  it.each(['[]', 'null', '1', '"x"'])('that is not an object is not valid: %s', (body) => {
    expect(refusal(body).problems).toEqual([{ pointer: '#', code: 'wrong_type', detail: 'must be an object' }]);
  });

  it('reports each problem with the pointer to its place', () => {
    expect(refusal('{"text":"no","count":1}').problems).toEqual([
      { pointer: '#/text/0', code: 'not_allowed', detail: 'must be ok' },
    ]);
  });

  it('is refused by a decorator that brings no words of its own, too', () => {
    expect(refusal('{"text":"ok","count":"1"}').problems).toMatchObject([{ pointer: '#/count' }]);
  });

  it.each(['extra', '__proto__', 'constructor', 'toString'])('must not have the unknown member %s', (name) => {
    expect(refusal(`{"text":"ok","count":1,"${name}":{}}`).problems).toMatchObject([
      { pointer: `#/${name}`, code: 'unknown_member' },
    ]);
  });

  it('is refused with at most 100 problems', () => {
    const body = JSON.stringify(Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`m${index}`, 1])));
    expect(refusal(body).problems).toHaveLength(100);
  });

  it('may have many problems', () => {
    class Many {
      @Checked({
        schema: {},
        check: () => Array.from({ length: 200_000 }, () => ({ pointer: '', code: 'not_allowed', detail: 'is not' })),
      })
      readonly all!: unknown;
    }
    expect(refusal('{"all":1}', Many).problems).toHaveLength(100);
  });

  it.each(['['.repeat(100_000), `{"text":${'['.repeat(16)}${']'.repeat(16)}}`])('must not be nested deep', (body) => {
    expect(refusal(body).problems).toMatchObject([{ pointer: '#', code: 'too_deep' }]);
  });

  it('may be nested some levels deep', () => {
    expect(refusal(`{"text":${'['.repeat(15)}${']'.repeat(15)}}`).problems).toMatchObject([
      { pointer: '#/text/0' },
      { pointer: '#/count' },
    ]);
  });
});
