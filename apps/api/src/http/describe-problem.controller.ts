import { Controller, Get, Param } from '@nestjs/common';
import { GaplessError } from '#libs/domain';
import { PROBLEM_TYPES, problemTypeUri, type ProblemCode } from '../problems/problem-types.js';

function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEM_TYPES, text);
}

/** `GET /problems/:code`: the page that the `type` of a problem refers to. */
@Controller('problems/:code')
export class DescribeProblemController {
  @Get()
  describe(@Param('code') code: string) {
    if (!isProblemCode(code)) throw new GaplessError('not_found', 'There is no such problem.');
    return { type: problemTypeUri(code), code, ...PROBLEM_TYPES[code] };
  }
}
