import { isUtf8 } from 'node:buffer';
import { createParamDecorator, type ExecutionContext, type Type } from '@nestjs/common';
import { validateSync, type ValidationError } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { GaplessError, type FieldProblem } from '#libs/domain';
import { tooDeepAt } from '#libs/event-validation';
import { bodyOf } from './bodies/body.js';
import { membersOf } from './body-schema.js';
import type { MemberRule } from './checked.decorator.js';
import { MAX_PROBLEMS, memberPointer, throwIfInvalid } from './validation-error.js';

/** The most levels of objects and arrays in a body. The members of DTOs have three. */
const MAX_DEPTH = 16;

/** The body as a valid instance of the DTO, whose members are all `@Checked`. */
export const JsonBody = createParamDecorator((dto: Type<object>, context: ExecutionContext): object =>
  readDto(bodyOf(context.switchToHttp().getRequest<FastifyRequest>()), dto),
);

/** Like `JsonBody`, for an operation whose body may be absent. An absent body counts as a DTO without members. */
export const OptionalJsonBody = createParamDecorator((dto: Type<object>, context: ExecutionContext): object => {
  const { body } = context.switchToHttp().getRequest<FastifyRequest>();
  return Buffer.isBuffer(body) && body.length > 0 ? readDto(body, dto) : new dto();
});

/**
 * @throws GaplessError `malformed_request` for invalid JSON; `validation_failed` or `unknown_event_type` with a pointer
 *   for each problem, including unknown members
 */
export function readDto<T extends object>(body: Buffer, dto: Type<T>): T {
  const value = parseJson(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throwIfInvalid([{ pointer: '#', code: 'wrong_type', detail: 'must be an object' }]);
    throw new Error('unreachable');
  }
  const known = membersOf(dto);
  const instance = new dto();
  const unknown: FieldProblem[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (known.has(name)) Object.defineProperty(instance, name, { value: member, enumerable: true });
    else if (unknown.length < MAX_PROBLEMS)
      unknown.push({ pointer: memberPointer(name), code: 'unknown_member', detail: 'is not a member of this body' });
  }
  throwIfInvalid([...unknown, ...validateSync(instance, { forbidUnknownValues: false }).flatMap(problemsOf)]);
  return instance;
}

function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new GaplessError('malformed_request', 'The body is not UTF-8.');
  const text = body.toString();
  if (tooDeepAt(text, MAX_DEPTH) !== -1) {
    throwIfInvalid([{ pointer: '#', code: 'too_deep', detail: `must not nest more than ${MAX_DEPTH} levels deep` }]);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GaplessError('malformed_request', 'The body is not JSON.', { cause });
  }
}

function problemsOf(error: ValidationError): readonly FieldProblem[] {
  const pointer = memberPointer(error.property);
  const problems = Object.values<MemberRule>(error.contexts ?? {}).flatMap(({ check }) => check(error.value));
  // A member that failed a decorator other than `@Checked` has no listed problems, but is invalid.
  if (problems.length === 0) return [{ pointer, code: 'not_allowed', detail: 'is not valid' }];
  return problems.map((problem) => ({ ...problem, pointer: `${pointer}${problem.pointer}` }));
}
